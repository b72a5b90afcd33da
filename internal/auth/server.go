package auth

import (
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Guard is what an embedded server needs to know who may do what.
type Guard struct {
	book *book
	pair tls.Certificate
	rig  string
	cert string // where the certificate is
	dir  string
}

// OpenGuard reads a folder of credentials for the server of a rig. A certificate and its key may be others than the folder's.
func OpenGuard(dir, rig, certFile, keyFile string) (*Guard, error) {
	b, err := readBook(dir)
	if err != nil {
		return nil, err
	}
	if certFile == "" && keyFile == "" {
		certFile, keyFile = filepath.Join(dir, serverFile), filepath.Join(dir, serverKeyFile)
	}
	pair, err := readPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return &Guard{book: b, pair: pair, rig: rig, cert: certFile, dir: dir}, nil
}

// Check looks whether the certificate is good at this time for a server that listens on host.
func (g *Guard) Check(host string, now time.Time) error {
	leaf := g.pair.Leaf
	if now.After(leaf.NotAfter) {
		return fmt.Errorf("%w: the certificate %s ended on %s: facetrack auth rotate server --dir %s makes a new one", ErrCredentials, g.cert, day(leaf.NotAfter), g.dir)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return nil // clients come by some name
	}
	if err := leaf.VerifyHostname(host); err != nil {
		return fmt.Errorf("%w: the certificate %s is not for %s: facetrack auth rotate server --dir %s --host %s makes one: %w", ErrCredentials, g.cert, host, g.dir, host, err)
	}
	return nil
}

// Soon tells how long the certificate still lasts if that is not long.
func (g *Guard) Soon(now time.Time) (left time.Duration, soon bool) {
	left = g.pair.Leaf.NotAfter.Sub(now)
	return left, left < expiresIn
}

// Apply adds roles and TLS to the options of a server.
func (g *Guard) Apply(o *server.Options) {
	for _, r := range Roles {
		o.Nkeys = append(o.Nkeys, nkeyUser(g.book.Keys[r].Public, PermissionsOf(r, g.rig), asClient...))
	}
	o.TLS, o.TLSTimeout = true, 5
	o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{g.pair}, MinVersion: tls.VersionTLS13}
}

// Admit lets the server's own process in, with a key that is in no file, to ask for nothing but whether JetStream answers.
func (g *Guard) Admit(o *server.Options) ([]nats.Option, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, fmt.Errorf("%w: make a key: %w", ErrCredentials, err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("%w: make a key: %w", ErrCredentials, err)
	}
	const inbox = "_INBOX.server"
	o.Nkeys = append(o.Nkeys, &server.NkeyUser{
		Nkey: public, AllowedConnectionTypes: map[string]struct{}{jwt.ConnectionTypeInProcess: {}},
		Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: []string{"$JS.API.INFO"}}, Subscribe: &server.SubjectPermission{Allow: []string{inbox + ".>"}},
		},
	})
	return []nats.Option{nats.Nkey(public, pair.Sign), nats.CustomInboxPrefix(inbox)}, nil
}

// RoleOf finds the role with a public key; "" when nobody has it.
func (g *Guard) RoleOf(public string) Role {
	for r, k := range g.book.Keys {
		if k.Public == public {
			return r
		}
	}
	return ""
}

// Loopback tells whether a server that listens on host is reached from its own machine alone.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

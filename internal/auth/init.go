package auth

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"facetrack/ipc"
)

// Options are what Init needs to know.
type Options struct {
	Dir   string
	Hosts []string // names and addresses of the server, besides those of its own machine
	Rigs  []string // for nats-server.conf
	Force bool     // make everything anew although there is a set already
	Now   time.Time
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,62})(\.[A-Za-z0-9]([A-Za-z0-9-]{0,62}))*$`)

func checkHosts(hosts []string) error {
	for _, h := range hosts {
		if net.ParseIP(h) == nil && !hostName.MatchString(h) {
			return fmt.Errorf("%w: --host=%q: a name or an address is expected, without port", ErrCredentials, h)
		}
	}
	return nil
}

// Init makes a set of credentials: keys for all roles, a CA and a certificate of the server. Where there is any part of a set
// already, nothing is changed unless Force says so.
func Init(o Options) error {
	if err := checkHosts(o.Hosts); err != nil {
		return err
	}
	if err := checkRigs(o.Rigs); err != nil {
		return err
	}
	if err := makeFolder(o.Dir); err != nil {
		return err
	}
	files, err := o.files()
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(files))
	if !o.Force {
		for _, name := range names {
			if _, err := os.Lstat(filepath.Join(o.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%w: %s %w: name another --dir, change one key with facetrack auth rotate, or make all anew with --force",
					ErrCredentials, filepath.Join(o.Dir, name), ErrExists)
			}
		}
	}
	for _, name := range names {
		if err := replace(filepath.Join(o.Dir, name), files[name]); err != nil {
			return err
		}
	}
	return nil
}

// files are the content of a new set, by name.
func (o Options) files() (map[string][]byte, error) {
	b := &book{Rigs: o.Rigs, Hosts: o.Hosts, Keys: map[Role]Key{}}
	files := map[string][]byte{}
	for _, r := range Roles {
		if err := b.renew(r, files, o.Now); err != nil {
			return nil, err
		}
	}
	ca, err := newAuthority(o.Now)
	if err != nil {
		return nil, fmt.Errorf("%w: make a CA: %w", ErrCredentials, err)
	}
	files[caFile] = pemCertificate(ca.certificate.Raw)
	if files[caKeyFile], err = pemKey(ca.key); err != nil {
		return nil, fmt.Errorf("%w: make a CA: %w", ErrCredentials, err)
	}
	if files[serverFile], files[serverKeyFile], err = ca.sign(o.Hosts, o.Now); err != nil {
		return nil, fmt.Errorf("%w: make a certificate: %w", ErrCredentials, err)
	}
	return files, b.files(o.Dir, files)
}

// renew gives a role a new key.
func (b *book) renew(r Role, files map[string][]byte, now time.Time) error {
	seed, public, err := newKey()
	if err != nil {
		return err
	}
	b.Keys[r] = Key{Public: public, Made: now.UTC().Truncate(time.Second)}
	files[seedFile(r)] = seed
	return nil
}

// files adds what is derived from the book.
func (b *book) files(dir string, files map[string][]byte) (err error) {
	if files[bookFile], err = b.encode(); err != nil {
		return err
	}
	files[confFile], err = b.conf(dir)
	return err
}

func checkRigs(rigs []string) error {
	for _, rig := range rigs {
		if err := ipc.CheckToken("rig", rig); err != nil {
			return fmt.Errorf("%w: %w", ErrCredentials, err)
		}
	}
	return nil
}

// SetRigs makes the configuration for a server of one's own one for other rigs; keys and certificates stay.
func SetRigs(dir string, rigs []string) error {
	if err := checkRigs(rigs); err != nil {
		return err
	}
	b, err := readBook(dir)
	if err != nil {
		return err
	}
	b.Rigs = rigs
	files := map[string][]byte{}
	if err := b.files(dir, files); err != nil {
		return err
	}
	return errors.Join(replace(filepath.Join(dir, bookFile), files[bookFile]), replace(filepath.Join(dir, confFile), files[confFile]))
}

// Rotate gives one role a new key; the old one is good until the server starts again.
func Rotate(dir string, role Role, now time.Time) error {
	b, err := readBook(dir)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	if err := errors.Join(b.renew(role, files, now), b.files(dir, files)); err != nil {
		return err
	}
	for _, name := range []string{seedFile(role), bookFile, confFile} {
		if err := replace(filepath.Join(dir, name), files[name]); err != nil {
			return err
		}
	}
	return nil
}

// RotateServer makes a new certificate of the server, for the hosts if any are named, else for those it had.
func RotateServer(dir string, hosts []string, now time.Time) error {
	if err := checkHosts(hosts); err != nil {
		return err
	}
	b, err := readBook(dir)
	if err != nil {
		return err
	}
	ca, err := openAuthority(filepath.Join(dir, caFile), filepath.Join(dir, caKeyFile))
	if err != nil {
		return err
	}
	if now.After(ca.certificate.NotAfter) {
		return fmt.Errorf("%w: the CA ended on %s: make a new set with facetrack auth init --force, and give %s to every client",
			ErrCredentials, day(ca.certificate.NotAfter), caFile)
	}
	if len(hosts) > 0 {
		b.Hosts = hosts
	}
	files := map[string][]byte{}
	if files[serverFile], files[serverKeyFile], err = ca.sign(b.Hosts, now); err != nil {
		return fmt.Errorf("%w: make a certificate: %w", ErrCredentials, err)
	}
	if err := b.files(dir, files); err != nil {
		return err
	}
	for _, name := range []string{serverKeyFile, serverFile, bookFile, confFile} {
		if err := replace(filepath.Join(dir, name), files[name]); err != nil {
			return err
		}
	}
	return nil
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

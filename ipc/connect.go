package ipc

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Errors of Connect.
var (
	// ErrNoServer says that nothing answers at the NATS URL.
	ErrNoServer = errors.New("no NATS server")
	// ErrAccess says that server and client do not trust each other: trying again does not help.
	ErrAccess = errors.New("no access")
)

const (
	reconnectWait   = 250 * time.Millisecond
	reconnectJitter = 250 * time.Millisecond
	// settleTime is how long after a reconnection every other process has reconnected and subscribed, too.
	settleTime   = 2 * (reconnectWait + reconnectJitter)
	writeTimeout = 5 * time.Second
	pingInterval = 5 * time.Second
)

// Conn is a NATS connection as every process of a rig makes it: it reconnects for ever, and publishing while
// it is disconnected fails at once, so that the caller can count what was not sent.
type Conn struct {
	*nats.Conn
	denied seldom
	slow   atomic.Uint64
	warned atomic.Int64 // when it was said last that a subscription is too slow, UnixNano
}

// SlowConsumers counts how often a subscription of this connection fell so far behind that messages were lost.
func (c *Conn) SlowConsumers() uint64 { return c.slow.Load() }

// Close closes the connection without waiting for pending messages.
func (c *Conn) Close() error {
	c.Conn.Close()
	return nil
}

// Connect connects to url, which may be a list separated by commas. The first connection is not retried:
// ErrNoServer when nothing answers. Options given are added to the shared ones and win.
func Connect(url, name string, logger *slog.Logger, opts ...nats.Option) (*Conn, error) {
	c := &Conn{}
	log := logger.With("nats", redact(url))
	nc, err := nats.Connect(url, append(c.options(name, log), opts...)...)
	if err != nil {
		return nil, connectError(redact(url), err)
	}
	c.Conn = nc
	return c, nil
}

func (c *Conn) options(name string, log *slog.Logger) []nats.Option {
	return []nats.Option{
		nats.Name(name),
		nats.SetCustomDialer(&dialer{Dialer: net.Dialer{Timeout: nats.DefaultTimeout}}),
		nats.RetryOnFailedConnect(false),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectJitter, reconnectJitter),
		nats.ReconnectBufSize(-1),
		nats.FlusherTimeout(writeTimeout),
		nats.PingInterval(pingInterval),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) { c.report(log, sub, err) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil: closed by this process
				log.Warn("disconnected; reconnecting", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { log.Warn("reconnected") }),
	}
}

// dialer closes what it dialled before when it dials again. A client has one connection at a time, and leaves those that were accepted but
// never greeted, as by a proxy whose server is away, to the garbage collector.
type dialer struct {
	net.Dialer
	mu   sync.Mutex
	last net.Conn
}

// Dial implements [nats.CustomDialer].
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last != nil {
		_ = d.last.Close() // mostly closed already
		d.last = nil
	}
	conn, err := d.Dialer.Dial(network, address)
	if err == nil {
		d.last = conn
	}
	return conn, err
}

func (c *Conn) report(log *slog.Logger, sub *nats.Subscription, err error) {
	subject := ""
	if sub != nil {
		subject = sub.Subject
	}
	if errors.Is(err, nats.ErrSlowConsumer) {
		c.tooSlow(log, subject, time.Now())
		return
	}
	if errors.Is(err, nats.ErrPermissionViolation) {
		if c.denied.now(err.Error(), time.Now()) {
			log.Error("permission denied: the role of this process does not allow it", "error", err)
		}
		return
	}
	log.Warn("connection error", "subject", subject, "error", err)
}

// tooSlow counts, and warns at most once a second: who is too slow is so hundreds of times.
func (c *Conn) tooSlow(log *slog.Logger, subject string, now time.Time) {
	times, last := c.slow.Add(1), c.warned.Load()
	if now.UnixNano()-last >= int64(time.Second) && c.warned.CompareAndSwap(last, now.UnixNano()) {
		log.Warn("this process reads too slowly: messages were lost", "subject", subject, "times", times)
	}
}

func connectError(url string, err error) error {
	if why := distrust(err); why != "" {
		return fmt.Errorf("%w to NATS at %s: %s: %w", ErrAccess, url, why, err)
	}
	var network net.Error
	if errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.As(err, &network) {
		return fmt.Errorf("%w at %s: start one or use facetrack up: %w", ErrNoServer, url, err)
	}
	return fmt.Errorf("connect to NATS at %s: %w", url, err)
}

// distrust tells why server or client refuses the other, and the cure; "" when the error is another.
func distrust(err error) string {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return "the server does not know this process's key, or it has none: name the server's credentials (--credentials, nats.credentials), and start the server again after a rotation"
	case errors.Is(err, nats.ErrNkeysNotSupported):
		return "the server asks nobody for a key, so that everybody may read there: start it with credentials, or leave them out here"
	case errors.Is(err, nats.ErrSecureConnWanted):
		return "the server offers no TLS, so that it cannot be told from another: start it with credentials, or leave them out here"
	case errors.As(err, &unknown):
		return "the server's certificate is of a CA that is not known here: name the server's ca.pem (--tls-ca, nats.tls.ca), or the folder that has it (--credentials, nats.credentials)"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the server's certificate has ended, or the clock here is wrong: facetrack auth rotate server"
	case errors.As(err, &invalid):
		return "the server's certificate is not good for a server: facetrack auth rotate server"
	case errors.As(err, &host):
		return "the server's certificate is for other names: connect by one of them, or facetrack auth rotate server --host NAME"
	}
	return ""
}

// redact hides passwords in a list of URLs.
func redact(list string) string {
	urls := strings.Split(list, ",")
	for i, s := range urls {
		if u, err := url.Parse(strings.TrimSpace(s)); err == nil {
			urls[i] = u.Redacted()
		} else {
			urls[i] = "(unreadable URL)"
		}
	}
	return strings.Join(urls, ",")
}

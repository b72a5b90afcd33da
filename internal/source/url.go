package source

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
)

var defaultPorts = map[string]string{"rtsp": "554", "rtsps": "322", "http": "80", "https": "443"}

func openURL(ctx context.Context, spec string, opts Options) (Source, error) {
	u, err := parseURL(spec)
	if err != nil {
		return nil, err
	}
	if err := canOpenStreams(); err != nil {
		return nil, err
	}
	if err := dial(ctx, u, opts); err != nil {
		return nil, err
	}
	return openStream(ctx, spec, u.Redacted(), opts)
}

func parseURL(spec string) (*url.URL, error) {
	u, err := url.Parse(spec)
	if err != nil {
		scheme, _, _ := strings.Cut(spec, "://") // the rest may hold a password
		return nil, fmt.Errorf("%w: the %s address cannot be parsed; write special characters of the password as %%XX", ErrSpec, scheme)
	}
	if _, ok := defaultPorts[u.Scheme]; !ok {
		return nil, fmt.Errorf("%w: scheme %q; use rtsp, rtsps, http or https", ErrUnsupported, u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, fmt.Errorf("%w: %s names no host", ErrSpec, u.Redacted())
	}
	return u, nil
}

// dial makes sure that somebody listens: a clear error at once, where the decoder would wait and say nothing.
func dial(ctx context.Context, u *url.URL, opts Options) error {
	port := u.Port()
	if port == "" {
		port = defaultPorts[u.Scheme]
	}
	d := net.Dialer{Timeout: opts.Timeout}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w: %s: %w; is the camera on, and its address right?", ErrLost, u.Redacted(), err)
	}
	return conn.Close()
}

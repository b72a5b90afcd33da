package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"facetrack/internal/auth"
	"facetrack/internal/config"
	"facetrack/internal/store"
)

// A link whose other end says nothing is given up after three of these.
const leafPing = 3 * time.Second

// keepWait is how long the server may take to say what it keeps.
const keepWait = 5 * time.Second

// leafRetry is how often a host tries to reach its hub.
const leafRetry = time.Second

// joinHosts adds to the options of an embedded server what joins it with those of other hosts: it listens for them, or connects to the hub. Each server has
// a JetStream of its own, under the name of its rig, so that each goes on alone.
func joinHosts(ctx context.Context, o *server.Options, cfg config.Config, guard *auth.Guard) error {
	l := cfg.NATS.Leaf
	if l.Listen == "" && l.Hub == "" {
		return nil
	}
	o.JetStreamDomain = cfg.Rig
	o.PingInterval, o.MaxPingsOut = leafPing, 2
	if l.Hub != "" {
		return joinHub(o, cfg)
	}
	host, port, err := splitListen("nats.leaf.listen", l.Listen)
	if err != nil {
		return err
	}
	switch {
	case guard != nil:
		if err := guard.ApplyHosts(o, cfg.HostNames()); err != nil {
			return err
		}
		if err := guard.Check(host, time.Now()); err != nil {
			return err
		}
	case !auth.Loopback(host):
		return fmt.Errorf("%w: nats.leaf.listen: %s is open to other machines, where credentials and TLS are required: make both with facetrack auth init --host NAME and facetrack auth host RIG, and start with --credentials DIR",
			auth.ErrCredentials, l.Listen)
	}
	if err := checkPort(ctx, host, port); err != nil {
		return fmt.Errorf("nats.leaf.listen: %w", err)
	}
	o.LeafNode.Host, o.LeafNode.Port, o.LeafNode.IsolateLeafnodeInterest = host, port, true
	return nil
}

func joinHub(o *server.Options, cfg config.Config) error {
	l := cfg.NATS.Leaf
	u, err := url.Parse(l.Hub)
	if err != nil {
		return fmt.Errorf("nats.leaf.hub: %w", err)
	}
	kept := auth.Withheld(cfg.Rig)
	remote := &server.RemoteLeafOpts{URLs: []*url.URL{u}, DenyExports: kept.Publish, DenyImports: kept.Subscribe, FirstInfoTimeout: 5 * time.Second}
	switch {
	case l.Credentials != "":
		join, err := auth.OpenJoin(l.Credentials)
		if err != nil {
			return fmt.Errorf("nats.leaf.credentials: %w", err)
		}
		remote.Nkey, remote.TLS, remote.TLSConfig, remote.TLSTimeout = join.Seed, true, join.TLS, 5
	case !auth.Loopback(u.Hostname()):
		return fmt.Errorf("%w: nats.leaf.hub: %s is another machine, where credentials and TLS are required: facetrack auth host %s makes them on the hub; name their folder here with nats.leaf.credentials", auth.ErrCredentials, l.Hub, cfg.Rig)
	}
	o.LeafNode.Remotes, o.LeafNode.ReconnectInterval = []*server.RemoteLeafOpts{remote}, leafRetry
	return nil
}

// keepHosts has the hub's server keep what those of other hosts keep. That it does not is no reason not to run.
func keepHosts(ctx context.Context, nc *nats.Conn, cfg config.Config, log *slog.Logger) {
	if len(cfg.Hosts) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, keepWait)
	defer cancel()
	js, err := jetstream.New(nc)
	if err == nil {
		err = store.Copy(ctx, js, cfg)
	}
	if refused := denied(nc, cfg.Rig); err != nil && refused != nil {
		err = refused
	}
	if err != nil {
		log.Error("the results of other hosts are not kept here as store.* says", "error", err)
	}
}

// splitListen takes a listen address apart; key says whose it is.
func splitListen(key, listen string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return "", 0, fmt.Errorf("%s: listen address %q: %w", key, listen, err)
	}
	if port, err = strconv.Atoi(text); err != nil {
		return "", 0, fmt.Errorf("%s: listen address %q: the port is not a number", key, listen)
	}
	return host, port, nil
}

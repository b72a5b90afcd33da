package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"facetrack/internal/auth"
	"facetrack/internal/config"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

// logged collects what a server says.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) has(words ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		if containsAll(line, words) {
			return true
		}
	}
	return false
}

func containsAll(line string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(line, w) {
			return false
		}
	}
	return true
}

// host is an embedded server of a rig.
type host struct {
	*bus
	t    *testing.T
	cfg  config.Config
	said *logged
}

func hostConfig(t *testing.T, rig string) config.Config {
	t.Helper()
	cfg := config.Default()
	cfg.Rig, cfg.DataDir, cfg.NATS.Listen = rig, t.TempDir(), "127.0.0.1:-1"
	return cfg
}

func startHost(t *testing.T, cfg config.Config) *host {
	t.Helper()
	h := &host{t: t, cfg: cfg, said: &logged{}}
	var err error
	if h.bus, err = startBus(t.Context(), cfg, slog.New(slog.NewTextHandler(h.said, nil))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.bus.stop() })
	return h
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a moment
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func (h *host) as(role auth.Role) *ipc.Conn {
	h.t.Helper()
	nc, err := dial(h.url(), "test", role, auth.Access{Credentials: h.cfg.NATS.Credentials}, quiet)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = nc.Close() })
	return nc
}

// twoHosts are a hub and the rig left, joined; with credentials where the hub has any.
func twoHosts(t *testing.T, credentials bool) (hub, left *host) {
	t.Helper()
	cfg := hostConfig(t, "hub")
	cfg.NATS.Leaf.Listen = freeAddress(t)
	cfg.Hosts = []config.Host{{Name: "left"}}
	other := hostConfig(t, "left")
	other.NATS.Leaf.Hub = "nats://" + cfg.NATS.Leaf.Listen
	if credentials {
		cfg.NATS.Credentials, other.NATS.Credentials = credentialsFor(t, "hub"), credentialsFor(t, "left")
		folder, err := auth.AddHost(cfg.NATS.Credentials, "left", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		other.NATS.Leaf.Hub, other.NATS.Leaf.Credentials = "tls://"+cfg.NATS.Leaf.Listen, folder
	}
	hub, left = startHost(t, cfg), startHost(t, other)
	eventually(t, "left joins", func() bool {
		return hub.said.has("a host has joined", "rig=left") && left.said.has("this host has joined the hub", "rig=hub")
	})
	return hub, left
}

func credentialsFor(t *testing.T, rig string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "auth")
	if err := auth.Init(auth.Options{Dir: dir, Rigs: []string{rig}, Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Both ways of joining let through what the hub needs, and neither a ring, pixels or what a host keeps for itself.
func TestWhatGoesFromHostToHost(t *testing.T) {
	for _, credentials := range []bool{false, true} {
		t.Run(fmt.Sprint("credentials ", credentials), func(t *testing.T) {
			hub, left := twoHosts(t, credentials)
			reader, hubTracker, hubDetect := hub.as(auth.Reader), hub.as(auth.Tracker), hub.as(auth.Detect)
			tracker, capture := left.as(auth.Tracker), left.as(auth.Capture)

			tracks, err := reader.SubscribeSync(ipc.AllCameras("left", ipc.KindTracks))
			must(t, err)
			asked, err := capture.SubscribeSync(ipc.AllCameras("left", ipc.KindRing))
			must(t, err)
			_, err = ipc.ServeClock(tracker.Conn, "left", func() map[string]float64 { return map[string]float64{"cam0": 30} })
			must(t, err)
			service, err := telemetry.Serve(tracker.Conn, "left", telemetry.New("tracker"))
			must(t, err)
			defer func() { _ = service.Stop() }()
			for _, nc := range []*ipc.Conn{reader, capture, tracker} {
				must(t, nc.Flush())
			}

			eventually(t, "the hub hears tracks", func() bool {
				must(t, tracker.Publish(ipc.Subject("left", "cam0", ipc.KindTracks), []byte("{}")))
				_, err := tracks.NextMsg(50 * time.Millisecond)
				return err == nil
			})
			eventually(t, "the hub's tracker is told the time", func() bool {
				e, a, err := ipc.AskClock(hubTracker.Conn, "left", time.Second)
				return err == nil && a.LatencyMS["cam0"] == 30 && e.RoundTripNS() > 0 && a.Epoch != ""
			})
			eventually(t, "the hub's reader is told the state", func() bool {
				m, err := reader.Request(telemetry.StatusSubject("left", "tracker"), nil, time.Second)
				return err == nil && strings.Contains(string(m.Data), `"tracker"`)
			})
			if credentials { // without them nobody is kept from asking on the hub
				must(t, hubDetect.Publish(ipc.Subject("left", "cam0", ipc.KindRing), nil))
			}
			must(t, hub.as(auth.Up).Publish(ipc.Subject("left", "cam0", ipc.KindRing), []byte("{}")))
			must(t, hubTracker.Publish(ipc.ClockSubject("left"), nil)) // what was sent before has been there
			eventually(t, "an answer after it", func() bool {
				_, _, err := ipc.AskClock(hubTracker.Conn, "left", time.Second)
				return err == nil
			})
			must(t, capture.Flush())
			if n, _, err := asked.Pending(); n != 0 {
				t.Errorf("the hub asked left's capture for a ring, %d times (%v)", n, err)
			}
			if err := js(t, hub.as(auth.Up), "left", ipc.BucketName("left")); err == nil {
				t.Error("the hub reads what left's bucket is")
			}
		})
	}
}

// js asks for a stream of another domain.
func js(t *testing.T, nc *ipc.Conn, domain, bucket string) error {
	t.Helper()
	m, err := nc.Request("$JS."+domain+".API.STREAM.INFO.KV_"+bucket, nil, time.Second)
	if err == nil && strings.Contains(string(m.Data), `"error"`) {
		return errors.New(string(m.Data))
	}
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A host that joins hears nothing of the hub's, nor of a third host's.
func TestHostsHearNothingOfEachOther(t *testing.T) {
	hub, left := twoHosts(t, true)
	nosy, err := left.as(auth.Reader).SubscribeSync("face.hub.*.tracks")
	if err != nil {
		t.Fatal(err)
	}
	must(t, hub.as(auth.Tracker).Publish(ipc.Subject("hub", "cam0", ipc.KindTracks), []byte("{}")))
	_, err = ipc.ServeClock(left.as(auth.Tracker).Conn, "left", func() map[string]float64 { return nil })
	must(t, err)
	ask := hub.as(auth.Tracker)
	eventually(t, "the link carries something", func() bool {
		_, _, err := ipc.AskClock(ask.Conn, "left", time.Second)
		return err == nil
	})
	if n, _, _ := nosy.Pending(); n != 0 {
		t.Errorf("left hears %d messages of the hub", n)
	}
}

// A hub that is not there, or lets nobody in, stops no host: it says why, once, and joins when it can.
func TestHubThatIsAway(t *testing.T) {
	cfg := hostConfig(t, "hub")
	cfg.NATS.Leaf.Listen = freeAddress(t)
	other := hostConfig(t, "left")
	other.NATS.Leaf.Hub = "nats://" + cfg.NATS.Leaf.Listen
	left := startHost(t, other)
	eventually(t, "left says that it is alone", func() bool { return left.said.has("the hub is not reached", "connection refused") })
	hub := startHost(t, cfg)
	eventually(t, "left joins", func() bool { return left.said.has("this host has joined the hub", "rig=hub") })
	must(t, hub.bus.stop())
	eventually(t, "left notices", func() bool { return left.said.has("the link to the hub is gone") })
}

func TestHubThatDoesNotKnowTheKey(t *testing.T) {
	cfg := hostConfig(t, "hub")
	cfg.NATS.Leaf.Listen, cfg.NATS.Credentials = freeAddress(t), credentialsFor(t, "hub")
	startHost(t, cfg)
	folder, err := auth.AddHost(cfg.NATS.Credentials, "left", time.Now()) // the hub has started before
	must(t, err)
	other := hostConfig(t, "left")
	other.NATS.Leaf = config.Leaf{Hub: "tls://" + cfg.NATS.Leaf.Listen, Credentials: folder}
	left := startHost(t, other)
	eventually(t, "left says why", func() bool { return left.said.has("the hub is not reached", "does not know this host's key") })
}

// Each mistake ends with one line that says what to do.
func TestLeafErrors(t *testing.T) {
	credentials, taken := credentialsFor(t, "hub"), freeAddress(t)
	holder, err := net.Listen("tcp", taken) //nolint:noctx // a moment
	must(t, err)
	defer func() { _ = holder.Close() }()
	for name, c := range map[string]struct {
		change func(*config.Config)
		want   []string
	}{
		"open without credentials": {func(c *config.Config) { c.NATS.Leaf.Listen = "0.0.0.0:7422" }, []string{"nats.leaf.listen", "credentials and TLS are required", "facetrack auth host"}},
		"hub without credentials":  {func(c *config.Config) { c.NATS.Leaf.Hub = "nats://192.0.2.1:7422" }, []string{"nats.leaf.hub", "another machine", "facetrack auth host lab"}},
		"a port that is taken":     {func(c *config.Config) { c.NATS.Leaf.Listen = taken }, []string{"nats.leaf.listen", "is taken"}},
		"a port that is none":      {func(c *config.Config) { c.NATS.Leaf.Listen = "127.0.0.1:many" }, []string{"nats.leaf.listen", "not a number"}},
		"a rig without key": {func(c *config.Config) {
			c.NATS.Leaf.Listen, c.NATS.Credentials, c.Hosts = "127.0.0.1:-1", credentials, []config.Host{{Name: "left"}}
		}, []string{"no key to join with", "left", "facetrack auth host left"}},
		"no folder": {func(c *config.Config) {
			c.NATS.Leaf = config.Leaf{Hub: "tls://192.0.2.1:7422", Credentials: filepath.Join(t.TempDir(), "none")}
		}, []string{"nats.leaf.credentials", "no such file"}},
		"another folder": {func(c *config.Config) {
			c.NATS.Leaf = config.Leaf{Hub: "tls://192.0.2.1:7422", Credentials: credentials}
		}, []string{"nats.leaf.credentials", "has no key of a host (host.nk)", "facetrack auth host RIG"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := hostConfig(t, "lab")
			c.change(&cfg)
			b, err := startBus(context.Background(), cfg, quiet)
			if err == nil {
				_ = b.stop()
				t.Fatal("it starts")
			}
			if !errors.Is(err, ErrBus) || !containsAll(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
}

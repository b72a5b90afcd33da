package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"facetrack/internal/auth"
	"facetrack/internal/config"
	"facetrack/internal/store"
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

func (l *logged) times(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), what)
}

func containsAll(line string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(line, w) {
			return false
		}
	}
	return true
}

// wire is what leads to a server, and can be cut.
type wire struct {
	t  *testing.T
	to string
	l  net.Listener

	mu   sync.Mutex
	cut  bool
	ends []net.Conn
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // until the test ends
	must(t, err)
	w := &wire{t: t, to: to, l: l}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.lay(c, &all)
		}
	})
	t.Cleanup(func() { _ = l.Close(); w.set(true); all.Wait() })
	return w
}

func (w *wire) lay(from net.Conn, all *sync.WaitGroup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	to, err := net.Dial("tcp", w.to) //nolint:noctx // this machine
	if err != nil || w.cut {
		_ = from.Close()
		return
	}
	w.ends = append(w.ends, from, to)
	for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
		all.Go(func() {
			_, _ = io.Copy(pair[1], pair[0])
			_ = pair[1].Close()
		})
	}
}

// set cuts the wire, or mends it.
func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for _, c := range w.ends {
		_ = c.Close()
	}
	w.ends = nil
}

// host is an embedded server of a rig.
type host struct {
	*bus
	t    *testing.T
	cfg  config.Config
	said *logged
	wire *wire // to the hub
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
	t.Cleanup(func() { _ = h.stop() })
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
	hub, others := joined(t, credentials, "left")
	return hub, others[0]
}

// joined are a hub and other rigs.
func joined(t *testing.T, credentials bool, rigs ...string) (hub *host, others []*host) {
	t.Helper()
	cfg := hostConfig(t, "hub")
	cfg.NATS.Leaf.Listen = freeAddress(t)
	w := newWire(t, cfg.NATS.Leaf.Listen)
	if credentials {
		cfg.NATS.Credentials = credentialsFor(t, "hub")
	}
	var configs []config.Config
	for _, rig := range rigs {
		cfg.Hosts = append(cfg.Hosts, config.Host{Name: rig})
		other := hostConfig(t, rig)
		other.NATS.Leaf.Hub = "nats://" + w.l.Addr().String()
		if credentials {
			other.NATS.Credentials, other.NATS.Leaf.Hub = credentialsFor(t, rig), "tls://"+w.l.Addr().String()
			var err error
			other.NATS.Leaf.Credentials, err = auth.AddHost(cfg.NATS.Credentials, rig, time.Now())
			must(t, err)
		}
		configs = append(configs, other)
	}
	hub = startHost(t, cfg)
	for _, c := range configs {
		h := startHost(t, c)
		h.wire = w
		others = append(others, h)
		eventually(t, c.Rig+" joins", func() bool {
			return hub.said.has("a host has joined", "rig="+c.Rig) && h.said.has("this host has joined the hub", "rig=hub")
		})
	}
	return hub, others
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

// Three hosts: the hub hears both others, and these nothing of each other.
func TestThreeHosts(t *testing.T) {
	hub, others := joined(t, true, "left", "right")
	left, right := others[0], startOpen(t, others[1])
	hears := func(at *host, rig string) *nats.Subscription {
		nc := at.as(auth.Reader)
		s, err := nc.SubscribeSync(ipc.AllCameras(rig, ipc.KindTracks))
		must(t, err)
		must(t, nc.Flush())
		return s
	}
	nosy := hears(right, "left")
	atHub := []*nats.Subscription{hears(hub, "left"), hears(hub, "right")}
	for i, h := range []*host{left, right} {
		nc := h.as(auth.Tracker)
		eventually(t, "the hub hears "+h.cfg.Rig, func() bool {
			must(t, nc.Publish(ipc.Subject(h.cfg.Rig, "cam0", ipc.KindTracks), []byte("{}")))
			_, err := atHub[i].NextMsg(50 * time.Millisecond)
			return err == nil
		})
	}
	if n, _, err := nosy.Pending(); n != 0 || err != nil {
		t.Errorf("right hears %d messages of left, %v", n, err)
	}
}

// startOpen starts a host anew without credentials of its own: nobody but the hub keeps its clients from hearing anything.
func startOpen(t *testing.T, h *host) *host {
	t.Helper()
	must(t, h.stop())
	h.cfg.NATS.Credentials = ""
	open := startHost(t, h.cfg)
	eventually(t, "it joins again", func() bool { return open.said.has("this host has joined the hub") })
	return open
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
	must(t, hub.stop())
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

// What a host keeps while the wire is cut comes when it is mended, in order and once.
func TestKeptResultsReachTheHub(t *testing.T) {
	for _, credentials := range []bool{false, true} {
		t.Run(fmt.Sprint("credentials ", credentials), func(t *testing.T) {
			hub, left := twoHosts(t, credentials)
			hub.cfg.Store.Enabled, left.cfg.Store.Enabled = true, true
			hub.cfg.Store.MaxGB, left.cfg.Store.MaxGB = 0.01, 0.01
			own, tracker := jetStream(t, left.as(auth.Up)), left.as(auth.Tracker)
			_, err := own.CreateStream(t.Context(), store.StreamConfig("left", left.cfg.Store))
			must(t, err)
			said := 0
			say := func(n int) {
				for range n {
					must(t, tracker.Publish(ipc.Subject("left", "cam0", ipc.KindTracks), fmt.Append(nil, said)))
					said++
				}
				must(t, tracker.Flush())
			}
			say(50)
			up := hub.as(auth.Up)
			var log logged
			keepHosts(t.Context(), up.Conn, hub.cfg, slog.New(slog.NewTextHandler(&log, nil)))
			if log.has("not kept") {
				t.Fatal(log.b.String())
			}
			has := func() uint64 {
				s, err := jetStream(t, up).Stream(t.Context(), ipc.ResultsStream("left"))
				must(t, err)
				return s.CachedInfo().State.LastSeq
			}
			eventually(t, "the first come", func() bool { return has() == 50 })
			left.wire.set(true)
			eventually(t, "left is alone", func() bool { return left.said.has("the link to the hub is gone") })
			say(70)
			left.wire.set(false)
			eventually(t, "left joins again", func() bool { return left.said.times("this host has joined the hub") == 2 })
			say(30)
			eventually(t, "all come", func() bool { return has() == 150 })
			reader := jetStream(t, hub.as(auth.Reader))
			c, err := reader.OrderedConsumer(t.Context(), ipc.ResultsStream("left"), jetstream.OrderedConsumerConfig{})
			must(t, err)
			all, err := c.Fetch(200, jetstream.FetchMaxWait(2*time.Second))
			must(t, err)
			n := 0
			for m := range all.Messages() {
				if string(m.Data()) != fmt.Sprint(n) || m.Subject() != "face.left.cam0.tracks" {
					t.Fatalf("message %d is %s, %s", n, m.Subject(), m.Data())
				}
				n++
			}
			if n != 150 {
				t.Errorf("%d of 150 messages", n)
			}
		})
	}
}

func jetStream(t *testing.T, nc *ipc.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(nc.Conn)
	must(t, err)
	return js
}

// A stream that is no copy is left alone; a copy that is not wanted any more is told of.
func TestCopyErrors(t *testing.T) {
	cfg := hostConfig(t, "hub")
	cfg.Hosts, cfg.Store.Enabled, cfg.Store.MaxGB = []config.Host{{Name: "left"}, {Name: "right"}}, true, 0.01
	h := startHost(t, cfg)
	nc := h.as(auth.Up)
	js := jetStream(t, nc)
	_, err := js.CreateStream(t.Context(), store.StreamConfig("left", cfg.Store))
	must(t, err)
	var log logged
	keepHosts(t.Context(), nc.Conn, cfg, slog.New(slog.NewTextHandler(&log, nil)))
	if !log.has("not kept here as store.* says", "copy of rig left", "a stream of that name is kept here already", "give the rig another name") {
		t.Error(log.b.String())
	}
	if s, err := js.Stream(t.Context(), ipc.ResultsStream("right")); err != nil || s.CachedInfo().Config.Mirror == nil {
		t.Errorf("the other is not copied: %v", err)
	}
	cfg.Store.Enabled = false
	keepHosts(t.Context(), nc.Conn, cfg, slog.New(slog.NewTextHandler(&log, nil)))
	if !log.has("still copied, although store.enabled is false", "nats stream rm facetrack-results_right") {
		t.Error(log.b.String())
	}
}

// A hub by another name, or another port, is no hub: the host says what is wrong.
func TestHubThatIsAnother(t *testing.T) {
	cfg := hostConfig(t, "hub")
	cfg.NATS.Credentials = credentialsFor(t, "hub")
	_, port, err := net.SplitHostPort(freeAddress(t))
	must(t, err)
	cfg.NATS.Leaf.Listen = "0.0.0.0:" + port
	folder, err := auth.AddHost(cfg.NATS.Credentials, "left", time.Now())
	must(t, err)
	cfg.Hosts = []config.Host{{Name: "left"}}
	hub := startHost(t, cfg)
	_, client, err := net.SplitHostPort(hub.Addr().String())
	must(t, err)
	for name, c := range map[string]struct{ hub, says string }{
		"a name that the certificate has not": {"tls://127.0.0.2:" + port, "certificate is valid for"},
		"the port of clients":                 {"tls://127.0.0.1:" + client, "no port for hosts"},
	} {
		t.Run(name, func(t *testing.T) {
			other := hostConfig(t, "left")
			other.NATS.Leaf = config.Leaf{Hub: c.hub, Credentials: folder}
			left := startHost(t, other)
			eventually(t, "left says why", func() bool { return left.said.has("the hub is not reached", c.says) })
		})
	}
}

func TestAuthHostSaysWhatToDo(t *testing.T) {
	dir := credentialsFor(t, "lab")
	var err error
	out, _ := printed(t, func() { err = (&AuthHostCmd{AuthDir{dir}, "left"}).Run() })
	if err != nil || !containsAll(out, []string{filepath.Join(dir, "hosts", "left"), "nats.leaf.credentials", "start the server again"}) {
		t.Errorf("%v: %s", err, out)
	}
	if err := (&AuthHostCmd{AuthDir{dir}, "a.b"}).Run(); !errors.Is(err, auth.ErrCredentials) || !strings.Contains(err.Error(), `rig "a.b"`) {
		t.Error(err)
	}
}

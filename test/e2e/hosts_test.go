//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"facetrack/internal/auth"
	"facetrack/ipc"
)

// Addresses of the two hosts: on the link between them, and on those by which the test sees each of them.
const (
	hubLink, leftLink = "10.71.0.1", "10.71.0.2"
	hubSeen, leftSeen = "10.72.0.2", "10.73.0.2"
)

// leftAhead is how much more the clock of the left host shows.
const leftAhead = 5000 * time.Second

// machine is a host: a network of its own, and perhaps a clock.
type machine struct {
	t     *testing.T
	words []string // that run a command there
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	keeper := exec.CommandContext(t.Context(), "cat") // lives for as long as its input
	keeper.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if _, err := keeper.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := keeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keeper.Process.Kill(); _ = keeper.Wait() })
	m := &machine{t: t, words: []string{"nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", keeper.Process.Pid), "--"}}
	m.run("ip", "link", "set", "lo", "up")
	return m
}

func (m *machine) run(words ...string) { runAll(m.t, append(slices.Clone(m.words), words...)...) }

func runAll(t *testing.T, words ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), words[0], words[1:]...).CombinedOutput(); err != nil { //nolint:gosec // this test
		t.Fatalf("%v: %v\n%s", words, err, out)
	}
}

func (m *machine) namespace() string {
	return strings.TrimSuffix(strings.TrimPrefix(m.words[1], "--net=/proc/"), "/ns/net")
}

// cable lays a link from this test to a host.
func (m *machine) cable(name, here, there string) {
	m.t.Helper()
	runAll(m.t, "ip", "link", "add", name, "type", "veth", "peer", "name", "seen", "netns", m.namespace())
	runAll(m.t, "ip", "addr", "add", here+"/24", "dev", name)
	runAll(m.t, "ip", "link", "set", name, "up")
	m.run("ip", "addr", "add", there+"/24", "dev", "seen")
	m.run("ip", "link", "set", "seen", "up")
}

// inOwnNetwork runs the test once more, as a process with a network of its own, and is true in that one.
func inOwnNetwork(t *testing.T) bool {
	t.Helper()
	const mark = "E2E_OWN_NETWORK"
	if os.Getenv(mark) != "" {
		return true
	}
	for _, tool := range []string{"ip", "nsenter", "unshare"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: needs %s (iproute2, util-linux) to make hosts of namespaces", tool)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), mark+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGTERM}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if os.IsPermission(err) {
		t.Skipf("SKIPPED: this user may not make a network namespace: %v", err)
	}
	t.Logf("in a network namespace:\n%s", out)
	if err != nil {
		t.Fatal(err)
	}
	return false
}

// ownClock are the words that run a command with the clock set ahead; none where the kernel has no such clocks.
func ownClock(t *testing.T) (words []string, ahead time.Duration) {
	t.Helper()
	words = []string{"unshare", "--time", "--monotonic", fmt.Sprint(int(leftAhead.Seconds()))}
	if out, err := exec.CommandContext(t.Context(), words[0], append(slices.Clone(words[1:]), "true")...).CombinedOutput(); err != nil {
		t.Logf("both hosts have one clock: no time namespace can be made here: %v %s", err, out)
		return nil, 0
	}
	return words, leftAhead
}

// listener hears tracks of a rig at a server, and looks for gaps.
type listener struct {
	mu   sync.Mutex
	n    int
	last time.Time
	gap  time.Duration // the longest between two frames
}

func (r *rig) follow(nc *nats.Conn, rig string) *listener {
	r.t.Helper()
	l := &listener{}
	_, err := nc.Subscribe(ipc.AllCameras(rig, ipc.KindTracks), func(m *nats.Msg) {
		f, err := ipc.PeekFrame(m.Data)
		if err != nil {
			r.t.Errorf("%s: %v", m.Subject, err)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		at := time.Unix(0, f.CaptureNS)
		if l.n > 0 {
			l.gap = max(l.gap, at.Sub(l.last))
		}
		l.n, l.last = l.n+1, at
	})
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return l
}

func (l *listener) heard() (int, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n, l.gap
}

// as is a connection in a role with the rig's own credentials.
func (r *rig) as(role auth.Role) *nats.Conn {
	r.t.Helper()
	nc, _, err := r.connect(role, auth.Access{Credentials: r.credentials})
	if err != nil {
		r.t.Fatal(err)
	}
	return nc.Conn
}

// initAuth makes credentials for a rig that is reached by these addresses.
func (r *rig) initAuth(addresses ...string) {
	r.t.Helper()
	r.credentials = r.path("auth")
	args := []string{"auth", "init", "--dir", r.credentials, "--rig", r.name}
	for _, a := range addresses {
		args = append(args, "--host", a)
	}
	if out, err := command(r.t, args...).CombinedOutput(); err != nil {
		r.t.Fatalf("%v\n%s", err, out)
	}
	r.env = append(r.env, "FACETRACK_CREDENTIALS="+r.credentials)
}

// upOn starts the rig on a host that is seen at an address.
func (r *rig) upOn(m *machine, clock []string, seen, configuration string) {
	r.t.Helper()
	r.url = "tls://" + seen + ":4222"
	words := append(append(slices.Clone(m.words), clock...), program, "up", "--rig", r.name, "--listen", "0.0.0.0:4222", "--data-dir", r.dir,
		"--summary", r.path("summary.json"), "--config", configuration, "--source", "synthetic:faces=1,fps=15")
	r.start(exec.Command(words[0], words[1:]...)) //nolint:gosec // the program under test
}

// storedFrames lists what a stream holds: the numbers of its messages, with the numbers of the frames.
func storedFrames(t *testing.T, nc *nats.Conn, rig string, upTo uint64) (all []string, frames []uint64) {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	c, err := js.OrderedConsumer(t.Context(), ipc.ResultsStream(rig), jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		m, err := c.Next(jetstream.FetchMaxWait(deadline))
		if err != nil {
			t.Fatal(err)
		}
		about, err := m.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(about.Sequence.Stream, " ", m.Subject()))
		if strings.HasSuffix(m.Subject(), ".tracks") {
			f, err := ipc.PeekFrame(m.Data())
			if err != nil {
				t.Fatal(err)
			}
			frames = append(frames, f.Seq)
		}
		if about.Sequence.Stream >= upTo {
			return all, frames
		}
	}
}

func lastStored(t *testing.T, nc *nats.Conn, rig string) uint64 {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), ipc.ResultsStream(rig))
	if err != nil {
		return 0
	}
	return s.CachedInfo().State.LastSeq
}

// Two hosts, each with a network, a clock and keys of its own: the hub merges who is where, the link between them is cut and mended, each side goes on, and of
// what was kept nothing is lost.
func TestTwoHosts(t *testing.T) {
	t.Parallel()
	if !inOwnNetwork(t) {
		return
	}
	left, hub := prepare(t), prepare(t)
	onLeft, onHub := newMachine(t), newMachine(t)
	onHub.cable("hub", "10.72.0.1", hubSeen)
	onLeft.cable("left", "10.73.0.1", leftSeen)
	onHub.run("ip", "link", "add", "between", "type", "veth", "peer", "name", "between", "netns", onLeft.namespace())
	for m, address := range map[*machine]string{onHub: hubLink, onLeft: leftLink} {
		m.run("ip", "addr", "add", address+"/24", "dev", "between")
		m.run("ip", "link", "set", "between", "up")
	}
	hub.initAuth(hubLink, hubSeen)
	left.initAuth(leftSeen)
	if out, err := command(t, "auth", "host", left.name, "--dir", hub.credentials).CombinedOutput(); err != nil || !strings.Contains(string(out), "nats.leaf.credentials") {
		t.Fatalf("%v\n%s", err, out)
	}
	key := filepath.Join(hub.credentials, "hosts", left.name) // as if it had been taken there
	const kept = "store: {enabled: true, kinds: [tracks], max_gb: 0.2}\n"
	clock, ahead := ownClock(t)
	hub.upOn(onHub, nil, hubSeen, hub.config(fmt.Sprintf("%sparticipants: [{name: mother}]\nnats: {leaf: {listen: %q}}\nhosts: [{rig: %q, participants: [child]}]\n",
		kept, hubLink+":7422", left.name)))
	left.upOn(onLeft, clock, leftSeen, left.config(fmt.Sprintf("%sparticipants: [{name: child}]\nnats: {leaf: {hub: %q, credentials: %q}}\n",
		kept, "tls://"+hubLink+":7422", key)))
	for _, r := range []*rig{hub, left} {
		r.eventually("it is up", func() bool { return strings.Contains(r.stderr.String(), "is up on") })
	}
	atHub, atLeft := hub.as(auth.Reader), left.as(auth.Reader)
	said := make(chan ipc.Participants, 4096)
	if _, err := atHub.Subscribe(ipc.ParticipantsSubject(hub.name), func(m *nats.Msg) {
		var p ipc.Participants
		if err := json.Unmarshal(m.Data, &p); err != nil {
			t.Errorf("%v: %s", err, m.Data)
		}
		said <- p
	}); err != nil {
		t.Fatal(err)
	}
	until := func(what string, ok func(ipc.Participants) bool) ipc.Participants {
		t.Helper()
		end := time.After(deadline)
		for {
			select {
			case p := <-said:
				if ok(p) {
					return p
				}
			case <-end:
				t.Fatalf("never said: %s\n%s", what, hub.stderr)
			}
		}
	}
	merged := func(p ipc.Participants) bool {
		return p.Hosts[0].Up && p.Hosts[0].Clock != nil && present(p, "mother", hub.name) && present(p, "child", left.name)
	}
	p := until("both are merged", merged)
	mustBeAhead(t, p.Hosts[0], ahead)
	mustSay(t, hub.show(), "host "+left.name+": reached since", "s ± ", "measured", "lsl-out")
	hubFrames, leftFrames := hub.follow(atHub, hub.name), left.follow(atLeft, left.name)
	hub.eventually("results of left are kept at the hub", func() bool { return lastStored(t, atHub, left.name) > 20 })

	onHub.run("ip", "link", "set", "between", "down")
	cut := time.Now()
	p = until("left is not reached", func(p ipc.Participants) bool { return !p.Hosts[0].Up })
	t.Logf("the cut was noticed after %s: %s", time.Since(cut).Round(time.Millisecond), p.Hosts[0].Reason)
	if time.Since(cut) > 15*time.Second {
		t.Errorf("the cut was noticed after %s", time.Since(cut))
	}
	until("the child is gone", func(p ipc.Participants) bool {
		return !present(p, "child", left.name) && present(p, "mother", hub.name)
	})
	left.eventually("left notices", func() bool { return strings.Contains(left.stderr.String(), "the link to the hub is gone") })
	mustSay(t, hub.show(), "host "+left.name+": not reached since")
	hubBefore, _ := hubFrames.heard()
	leftBefore, _ := leftFrames.heard()
	hub.eventually("both go on alone", func() bool {
		h, _ := hubFrames.heard()
		l, _ := leftFrames.heard()
		return h > hubBefore+60 && l > leftBefore+60
	})
	alone := lastStored(t, atLeft, left.name)
	if at := lastStored(t, atHub, left.name); at >= alone {
		t.Errorf("the hub has %d of %d messages although the link is cut", at, alone)
	}

	onHub.run("ip", "link", "set", "between", "up")
	mended := time.Now()
	p = until("both are merged again", merged)
	t.Logf("merged again after %s", time.Since(mended).Round(time.Millisecond))
	mustBeAhead(t, p.Hosts[0], ahead)
	if p.Hosts[0].Steps != 0 {
		t.Errorf("the clock is said to be another one: %+v", p.Hosts[0])
	}
	hub.eventually("what was kept comes", func() bool { return lastStored(t, atHub, left.name) >= alone+20 })
	t.Logf("what was kept is at the hub after %s", time.Since(mended).Round(time.Millisecond))
	upTo := lastStored(t, atHub, left.name)
	want, frames := storedFrames(t, atLeft, left.name, upTo)
	if got, _ := storedFrames(t, atHub, left.name, upTo); !slices.Equal(got, want) {
		t.Errorf("the hub has %d messages, left %d up to number %d", len(got), len(want), upTo)
	}
	for i := 1; i < len(frames); i++ {
		if frames[i] <= frames[i-1] {
			t.Fatalf("frame %d is kept behind frame %d", frames[i], frames[i-1])
		}
	}
	for name, l := range map[string]*listener{"hub": hubFrames, "left": leftFrames} {
		if n, gap := l.heard(); gap > 2*time.Second {
			t.Errorf("%s: a gap of %s among %d frames", name, gap, n)
		}
	}
	hub.interrupt()
	left.interrupt()
	hub.mustEnd()
	left.mustEnd()
	hub.refusals()
	left.refusals()
	hub.said("a host has joined", left.name)
	hub.said("host is not reached", left.name)
}

// present tells whether somebody is seen on a host now.
func present(p ipc.Participants, name, rig string) bool {
	for _, who := range p.Participants {
		if who.Name == name && who.Present {
			return slices.ContainsFunc(who.Places, func(s ipc.SeenAt) bool { return s.Rig == rig })
		}
	}
	return false
}

// mustBeAhead checks the measured clock against the known one.
func mustBeAhead(t *testing.T, h ipc.Host, ahead time.Duration) {
	t.Helper()
	wrong := time.Duration(h.Clock.OffsetNS) + ahead
	t.Logf("clock: %s ± %s, wrong by %s; round trip %s", time.Duration(h.Clock.OffsetNS), time.Duration(h.Clock.ErrorNS), wrong, time.Duration(h.Clock.RoundTripNS))
	if wrong.Abs() > time.Duration(h.Clock.ErrorNS) || h.Clock.ErrorNS <= 0 || h.Clock.ErrorNS > int64(200*time.Millisecond) {
		t.Errorf("%+v: wrong by %s", *h.Clock, wrong)
	}
}

// show is what facetrack status prints.
func (r *rig) show() string {
	r.t.Helper()
	cmd := command(r.t, "status", "--nats", r.url, "--rig", r.name)
	cmd.Env = append(os.Environ(), r.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Errorf("status: %v\n%s", err, out)
	}
	return string(out)
}

func mustSay(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in:\n%s", w, text)
		}
	}
}

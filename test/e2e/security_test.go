//go:build e2e

package e2e

import (
	"bufio"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/auth"
	"facetrack/ipc"
)

// withCredentials makes a set of credentials as a user does; the rig and this test's own commands use it.
func (r *rig) withCredentials() *rig {
	r.t.Helper()
	r.credentials = r.path("auth")
	if out, err := command(r.t, "auth", "init", "--dir", r.credentials, "--rig", r.name).CombinedOutput(); err != nil {
		r.t.Fatalf("%v\n%s", err, out)
	}
	r.env = append(r.env, "FACETRACK_CREDENTIALS="+r.credentials)
	return r
}

// refusals checks that the rig said of no other refusal than those that name one of these.
func (r *rig) refusals(known ...string) {
	r.t.Helper()
	lines := bufio.NewScanner(strings.NewReader(r.stderr.String()))
next:
	for lines.Scan() {
		line := lines.Text()
		if !strings.Contains(line, "permission denied") && !strings.Contains(line, "the NATS server refuses") {
			continue
		}
		for _, k := range known {
			if strings.Contains(line, k) {
				continue next
			}
		}
		r.t.Errorf("refused: %s", line)
	}
}

// Every role has what it needs: the whole of a rig, each process killed and back, recordings, statistics; nothing is refused.
func TestKillEachProcessWithPermissions(t *testing.T) {
	r := prepare(t).withCredentials()
	killEachProcess(t, r, processLink)
	r.refusals()
}

// The same for every way that pixels take, and a recording of streams.
func TestPermissionsSuffice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, transport string
		gpu             bool
		args            []string
	}{
		{"device memory", "cuda-ipc", true, []string{"--backend", "cpu"}},
		{"copies", "copy", false, []string{"--transport", "copy"}},
		{"threads", threadLink, false, []string{"--threads"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := prepare(t).withCredentials()
			if c.gpu {
				r.withGPU()
			}
			cam := r.up(append([]string{"--config", r.config(""), "--source", "synthetic:faces=2,frames=90", "--pace", "max",
				"--record", r.path("a.jsonl"), "--xdf", r.path("a.xdf")}, c.args...)...).mustEnd().Cameras["cam0"]
			if cam.Tracked != 90 || len(cam.Identities) != 2 {
				t.Errorf("tracked %d of 90, identities %v", cam.Tracked, cam.Identities)
			}
			for name, link := range cam.Links {
				if link.Transport != c.transport {
					t.Errorf("%s reads by %s (%s), want %s", name, link.Transport, link.Reason, c.transport)
				}
			}
			checkRecording(t, r, 90)
			r.refusals()
		})
	}
}

// A rig that runs is recorded by somebody else, who may read and nothing more.
func TestReaderRecords(t *testing.T) {
	t.Parallel()
	r := prepare(t).withCredentials()
	r.up("--config", r.config(""), "--source", "synthetic:faces=1,fps=30")
	r.eventually("frames flow", func() bool { return r.status()["tracker"].Cameras["cam0"].Frames > 5 })
	own := t.TempDir()
	for _, name := range []string{"reader.nk", "ca.pem"} {
		if err := os.WriteFile(filepath.Join(own, name), []byte(read(t, filepath.Join(r.credentials, name))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := command(t, "record", "--nats", r.url, "--rig", r.name, "--credentials", own, "--duration", "3s", "--xdf", r.path("b.xdf"), r.path("b.jsonl"))
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "denied") {
		t.Errorf("%v\n%s", err, out)
	}
	r.interrupt()
	r.mustEnd()
	if n := len(tracks(t, r.path("b.jsonl"))); n < 50 {
		t.Errorf("%d frames recorded", n)
	}
	r.refusals()
}

// connect is a connection in a role, with what the server refuses to it.
func (r *rig) connect(role auth.Role, access auth.Access) (*ipc.Conn, chan error, error) {
	r.t.Helper()
	options, err := access.Options(role)
	if err != nil {
		r.t.Fatal(err)
	}
	refused := make(chan error, 16)
	options = append(options, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	nc, err := ipc.Connect(r.url, "test", slog.New(slog.DiscardHandler), options...)
	if err == nil {
		r.t.Cleanup(func() { _ = nc.Close() })
	}
	return nc, refused, err
}

func mustBeRefused(t *testing.T, refused chan error, subject string) {
	t.Helper()
	select {
	case err := <-refused:
		if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), subject) {
			t.Errorf("%v, want the refusal of %s", err, subject)
		}
	case <-time.After(deadline):
		t.Errorf("%s is not refused", subject)
	}
}

// On a rig that runs: who has no key, or a wrong one, reads no landmark; capture reads no tracks, lsl-out publishes nothing, a reader
// is not told where a ring is. One who may read hears the landmarks, so that there is something to hear.
func TestStrangersAndRolesOnTheBus(t *testing.T) {
	t.Parallel()
	r := prepare(t).withCredentials()
	r.up("--config", r.config(""), "--source", "synthetic:faces=1,fps=30")
	r.eventually("frames flow", func() bool { return r.status()["tracker"].Cameras["cam0"].Frames > 10 })
	other := filepath.Join(t.TempDir(), "auth")
	if out, err := command(t, "auth", "init", "--dir", other, "--rig", r.name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ca := filepath.Join(r.credentials, "ca.pem")
	for name, access := range map[string]auth.Access{
		"no credentials": {}, "TLS and no key": {CA: ca}, "TLS and a wrong key": {Credentials: filepath.Join(other, "up.nk"), CA: ca}, "credentials of another rig": {Credentials: other},
	} {
		if _, _, err := r.connect(auth.Up, access); !errors.Is(err, ipc.ErrAccess) {
			t.Errorf("%s: %v", name, err)
		}
	}
	subject := func(kind ipc.Kind) string { return ipc.Subject(r.name, "cam0", kind) }
	mine := auth.Access{Credentials: r.credentials}
	reader, refused, err := r.connect(auth.Reader, mine)
	if err != nil {
		t.Fatal(err)
	}
	points, err := reader.SubscribeSync(ipc.AllCameras(r.name, ipc.KindLandmarks))
	if err != nil {
		t.Fatal(err)
	}
	m, err := points.NextMsg(deadline)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := ipc.DecodeLandmarks(m.Data); err != nil || len(l.Faces) == 0 {
		t.Errorf("landmarks of %d faces, %v", len(l.Faces), err)
	}
	link, err := ipc.NewLink(reader.Conn, r.name, "cam0", "detect", ipc.LinkOptions{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = link.Close() }()
	if err := link.Attach(t.Context(), ""); err == nil {
		t.Error("a reader attached to a ring")
	}
	mustBeRefused(t, refused, subject(ipc.KindRing))

	capture, refused, err := r.connect(auth.Capture, mine)
	if err != nil {
		t.Fatal(err)
	}
	stolen, err := capture.SubscribeSync(ipc.AllCameras(r.name, ipc.KindTracks))
	if err != nil {
		t.Fatal(err)
	}
	mustBeRefused(t, refused, ipc.AllCameras(r.name, ipc.KindTracks))
	before := r.status()["tracker"].Cameras["cam0"].Frames
	r.eventually("more is tracked", func() bool { return r.status()["tracker"].Cameras["cam0"].Frames > before+10 })
	if n, _, err := stolen.Pending(); n > 0 {
		t.Errorf("capture reads %d messages of tracks (%v)", n, err)
	}

	out, refused, err := r.connect(auth.LSLOut, mine)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Publish(subject(ipc.KindTracks), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	mustBeRefused(t, refused, subject(ipc.KindTracks))
	r.interrupt()
	r.mustEnd()
	for role, kind := range map[string]ipc.Kind{"lsl-out": ipc.KindTracks, "reader": ipc.KindRing} {
		r.said("role "+role, subject(kind))
	}
	r.said("role capture", ipc.AllCameras(r.name, ipc.KindTracks))
}

// said checks that one line of the rig's log has every word.
func (r *rig) said(words ...string) {
	r.t.Helper()
next:
	for line := range strings.Lines(r.stderr.String()) {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue next
			}
		}
		return
	}
	r.t.Errorf("no line says %q:\n%s", words, r.stderr)
}

// An address that others reach is not opened without credentials.
func TestOpenAddressWithoutCredentials(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	if code := r.up("--config", r.config(""), "--source", "synthetic:", "--listen", "0.0.0.0:-1").wait(); code != 1 {
		t.Errorf("status %d", code)
	}
	oneClearLine(t, r.stderr.String(), "credentials and TLS are required", "facetrack auth init", "--credentials")
}

// With permissions the configuration changes as without, by the key of up alone, and nobody is refused anything on the way.
func TestConfigurationChangesWithPermissions(t *testing.T) {
	r := prepare(t).withCredentials()
	r.up("--config", r.config(""), "--source", "synthetic:faces=1,fps=30")
	config := func(args ...string) string {
		t.Helper()
		cmd := command(t, append(append([]string{"config"}, args...), "--nats", r.url, "--rig", r.name)...)
		cmd.Env = append(os.Environ(), r.env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("config %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	r.eventually("the rig runs", func() bool { return strings.Contains(r.stderr.String(), "is up on") })
	if out := config("set", "detect.every=2", `cameras.more={source: "synthetic:faces=1,fps=30"}`); !strings.Contains(out, "revision 2 is in effect in 5") {
		t.Errorf("set says:\n%s", out)
	}
	config("rollback", "1")
	if out := config("history"); !strings.Contains(out, "rollback to revision 1") {
		t.Errorf("history says:\n%s", out)
	}
	if out := config("get", "detect.every"); out != "detect.every: 5\n" {
		t.Errorf("get says %s", out)
	}
	r.interrupt()
	r.mustEnd()
	r.refusals()
}

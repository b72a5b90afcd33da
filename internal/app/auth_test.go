package app

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"facetrack/internal/app/supervise"
	"facetrack/internal/auth"
	"facetrack/internal/config"
	"facetrack/ipc"
)

// credentials makes a set of them as a user does.
func credentials(t *testing.T, more ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "auth")
	code, stdout, stderr := run(t, append([]string{"auth", "init", "--dir", dir}, more...)...)
	if code != 0 || stderr != "" || !strings.Contains(stdout, "facetrack up --credentials "+dir) || !strings.Contains(stdout, "lasts until 20") {
		t.Fatalf("status %d\n%s%s", code, stdout, stderr)
	}
	return dir
}

// lines collects a log.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// guarded runs the embedded server with credentials.
func guarded(t *testing.T, dir, listen string) (*bus, *lines) {
	t.Helper()
	cfg := config.Default()
	cfg.DataDir, cfg.NATS.Listen, cfg.NATS.Credentials = t.TempDir(), listen, dir
	log := &lines{}
	b, err := startBus(t.Context(), cfg, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	})
	return b, log
}

func TestOpenAddressesNeedCredentials(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	for _, listen := range []string{"0.0.0.0:-1", ":-1", "[::]:-1", "192.0.2.1:4222", "lab-1:4222"} {
		cfg.NATS.Listen = listen
		b, err := startBus(t.Context(), cfg, quiet)
		if err == nil {
			_ = b.stop()
			t.Errorf("%s: started", listen)
			continue
		}
		for _, want := range []string{listen, "credentials and TLS are required", "facetrack auth init --host NAME", "--credentials DIR"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %q", listen, err, want)
			}
		}
	}
	for _, listen := range []string{"127.0.0.1:-1", "localhost:-1", "127.1.2.3:-1"} {
		cfg.NATS.Listen = listen
		b, err := startBus(t.Context(), cfg, quiet)
		if err != nil {
			t.Errorf("%s: %v", listen, err)
			continue
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestUpOnAnOpenAddress(t *testing.T) {
	code, _, stderr := run(t, "up", "--source", "synthetic:", "--config", drawnFaces(t), "--listen", "0.0.0.0:-1", "--data-dir", t.TempDir())
	if code != 1 {
		t.Errorf("status %d", code)
	}
	expectLine(t, stderr, "0.0.0.0:-1", "credentials and TLS are required", "facetrack auth init")
}

// With credentials the server takes any address, and its own machine reaches it by one that the certificate is for.
func TestOpenAddressWithCredentials(t *testing.T) {
	dir := credentials(t)
	b, _ := guarded(t, dir, "0.0.0.0:-1")
	u, err := url.Parse(b.url())
	if err != nil || u.Hostname() != "127.0.0.1" || u.Scheme != "tls" {
		t.Fatalf("%s, %v", b.url(), err)
	}
	nc, err := dial(b.url(), "test", auth.Reader, auth.Access{Credentials: dir}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Close(); err != nil {
		t.Error(err)
	}
	cfg := config.Default()
	cfg.DataDir, cfg.NATS.Listen, cfg.NATS.Credentials = t.TempDir(), "192.0.2.1:-1", dir
	if _, err := startBus(t.Context(), cfg, quiet); err == nil || !strings.Contains(err.Error(), "--host 192.0.2.1") {
		t.Errorf("an address that the certificate is not for: %v", err)
	}
}

// What the server refuses is in the log of both, with role and subject.
func TestRefusalsAreSaid(t *testing.T) {
	dir := credentials(t)
	b, said := guarded(t, dir, "127.0.0.1:-1")
	own := &lines{}
	nc, err := dial(b.url(), "test", auth.LSLOut, auth.Access{Credentials: dir}, slog.New(slog.NewTextHandler(own, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	subject := ipc.Subject("lab", "cam0", ipc.KindTracks)
	if err := nc.Publish(subject, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the process says it", func() bool {
		return strings.Contains(own.String(), "permission denied") && strings.Contains(own.String(), subject) && strings.Contains(own.String(), "role=lsl-out")
	})
	eventually(t, "the server says it", func() bool {
		return strings.Contains(said.String(), "Publish Violation") && strings.Contains(said.String(), subject) && strings.Contains(said.String(), " - role lsl-out - ")
	})
	stranger, err := dial(b.url(), "stranger", auth.Reader, auth.Access{CA: filepath.Join(dir, "ca.pem")}, quiet)
	if err == nil {
		_ = stranger.Close()
		t.Fatal("a stranger was let in")
	}
	eventually(t, "the server says that it has sent a stranger away", func() bool { return strings.Contains(said.String(), "authentication error") })
}

// A stage that the server does not let in is not started again and again.
func TestStageWithAWrongKey(t *testing.T) {
	b, _ := guarded(t, credentials(t), "127.0.0.1:-1")
	other := credentials(t)
	file := write(t, "f.yaml", "nats: {credentials: "+other+"}\n")
	for name, args := range map[string][]string{"flag": {"--credentials", other}, "file": {"--config", file}, "waiting": {"--config", file, "--wait"}} {
		code, _, stderr := run(t, append([]string{"stage", "capture", "--nats", b.url(), "--log-level", "error"}, args...)...)
		if code != supervise.ExitConfig {
			t.Errorf("%s: status %d", name, code)
		}
		expectLine(t, stderr, "capture: no access to NATS", "CA that is not known")
	}
	seed := filepath.Join(other, "capture.nk")
	if err := os.Chmod(seed, 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := run(t, "stage", "capture", "--nats", b.url(), "--credentials", other)
	if code != supervise.ExitConfig {
		t.Errorf("status %d", code)
	}
	expectLine(t, stderr, "chmod 600 "+seed)
}

func TestCredentialsFromEverywhere(t *testing.T) {
	file := write(t, "f.yaml", "nats: {credentials: /of/file, tls: {ca: /of/ca.pem, cert: /of/c.pem, key: /of/k.pem}}\n")
	source := []string{"--source", "synthetic:"}
	cfg := mustConfigure(t, append(source, "--config", file)...)
	if want := (config.TLS{CA: "/of/ca.pem", Cert: "/of/c.pem", Key: "/of/k.pem"}); cfg.NATS.Credentials != "/of/file" || cfg.NATS.TLS != want {
		t.Errorf("file: %+v", cfg.NATS)
	}
	t.Setenv("FACETRACK_CREDENTIALS", "/of/environment")
	t.Setenv("FACETRACK_TLS_CA", "/of/environment.pem")
	cfg = mustConfigure(t, append(source, "--config", file)...)
	if cfg.NATS.Credentials != "/of/environment" || cfg.NATS.TLS.CA != "/of/environment.pem" {
		t.Errorf("environment: %+v", cfg.NATS)
	}
	cfg = mustConfigure(t, append(source, "--config", file, "--credentials", "/of/flag", "--tls-ca", "/of/flag.pem")...)
	if cfg.NATS.Credentials != "/of/flag" || cfg.NATS.TLS.CA != "/of/flag.pem" {
		t.Errorf("flags: %+v", cfg.NATS)
	}
	if _, err := configured(t, append(source, "--tls-cert", "/of/c.pem")...); err == nil || !strings.Contains(err.Error(), "nats.tls.key") {
		t.Errorf("a certificate without key: %v", err)
	}
}

func TestAuthCommands(t *testing.T) {
	dir := credentials(t, "--host", "lab-1.example", "--rig", "blue", "--rig", "green")
	conf, err := os.ReadFile(filepath.Join(dir, "nats-server.conf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"face.blue.*.tracks", "face.green.*.tracks"} {
		if !strings.Contains(string(conf), want) {
			t.Errorf("nats-server.conf does not mention %s", want)
		}
	}
	code, _, stderr := run(t, "auth", "init", "--dir", dir)
	if code != 1 {
		t.Errorf("status %d", code)
	}
	expectLine(t, stderr, "exists and is left alone", "auth rotate", "--force")
	show := func() (o auth.Overview) {
		code, stdout, stderr := run(t, "auth", "show", "--dir", dir, "--json", "--rig", "blue")
		if code != 0 || json.Unmarshal([]byte(stdout), &o) != nil {
			t.Fatalf("status %d: %s%s", code, stdout, stderr)
		}
		return o
	}
	before := show()
	if code, stdout, stderr := run(t, "auth", "rotate", "reader", "--dir", dir); code != 0 || !strings.Contains(stdout, "the key of reader is new") {
		t.Errorf("status %d: %s%s", code, stdout, stderr)
	}
	if code, _, stderr := run(t, "auth", "rotate", "server", "--dir", dir, "--host", "lab-2.example"); code != 0 {
		t.Errorf("status %d: %s", code, stderr)
	}
	if code, _, stderr := run(t, "auth", "rigs", "red", "--dir", dir); code != 0 {
		t.Errorf("status %d: %s", code, stderr)
	}
	if conf, err := os.ReadFile(filepath.Join(dir, "nats-server.conf")); err != nil || !strings.Contains(string(conf), "face.red.*.tracks") || strings.Contains(string(conf), "face.blue.") {
		t.Errorf("nats-server.conf is not for the other rig (%v)", err)
	}
	after := show()
	for i, r := range after.Roles {
		if changed := r.Public != before.Roles[i].Public; changed != (r.Role == auth.Reader) {
			t.Errorf("key of %s: changed %v", r.Role, changed)
		}
	}
	if fmt.Sprint(after.Hosts) != "[lab-2.example localhost 127.0.0.1 ::1]" {
		t.Errorf("hosts %v", after.Hosts)
	}
	_, stdout, _ := run(t, "auth", "show", "--dir", dir)
	for _, r := range after.Roles {
		if !strings.Contains(stdout, "\n"+string(r.Role)+"\n") || !strings.Contains(stdout, r.Public) {
			t.Errorf("%s is not shown:\n%s", r.Role, stdout)
		}
	}
	if seed, err := os.ReadFile(filepath.Join(dir, "up.nk")); err != nil || strings.Contains(stdout, strings.TrimSpace(string(seed))) {
		t.Errorf("a seed is shown, or %v", err)
	}
	for want, args := range map[string][]string{
		"capture, detect":           {"auth", "rotate", "nobody", "--dir", dir},
		"auth rotate server --host": {"auth", "rotate", "reader", "--host", "a", "--dir", dir},
		`rig "a.b"`:                 {"auth", "rigs", "a.b", "--dir", dir},
		"facetrack auth init --dir": {"auth", "show", "--dir", t.TempDir()},
	} {
		code, _, stderr := run(t, args...)
		if code != 1 {
			t.Errorf("%q: status %d", args, code)
		}
		expectLine(t, stderr, want)
	}
}

// Stage programs without facetrack up: somebody makes the bucket for them, and until then they say so.
func TestPrepareMakesTheBucket(t *testing.T) {
	dir := credentials(t)
	b, _ := guarded(t, dir, "127.0.0.1:-1")
	code, _, stderr := run(t, "stage", "lsl-out", "--nats", b.url(), "--credentials", dir, "--log-level", "error")
	if code == 0 {
		t.Error("a stage runs without configuration")
	}
	expectLine(t, stderr, "facetrack auth prepare")
	if code, _, stderr := run(t, "auth", "prepare", "--nats", b.url(), "--credentials", dir); code != 0 || stderr != "" {
		t.Fatalf("status %d: %s", code, stderr)
	}
	code, _, stderr = run(t, "auth", "prepare", "--nats", b.url(), "--credentials", dir, "--rig", "other")
	if code != 1 || !strings.Contains(stderr, "for other rigs") || !strings.Contains(stderr, `rig "other"`) {
		t.Errorf("another rig: status %d: %s", code, stderr)
	}
	code, _, stderr = run(t, "status", "--nats", b.url(), "--credentials", dir, "--rig", "other", "--wait", "100ms")
	if code != 1 {
		t.Errorf("status %d", code)
	}
	expectLine(t, stderr, `no access to rig "other"`, "facetrack.other.status.")
	nc, err := dial(b.url(), "test", auth.Tracker, auth.Access{Credentials: dir}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	if _, err := openBucket(t.Context(), nc.Conn, "lab", auth.Tracker); err != nil {
		t.Error(err)
	}
}

// Whoever may not look on is told so at once; a reader is shown that nothing runs.
func TestTopNeedsAKey(t *testing.T) {
	dir := credentials(t)
	b, _ := guarded(t, dir, "127.0.0.1:-1")
	for want, args := range map[string][]string{
		"CA that is not known":     {"--credentials", credentials(t)},
		"no access to NATS":        {"--tls-ca", filepath.Join(dir, "ca.pem")},
		`no access to rig "other"`: {"--credentials", dir, "--rig", "other"},
	} {
		code, _, stderr := run(t, append([]string{"top", "--once", "--nats", b.url(), "--interval", "100ms"}, args...)...)
		if code != 1 {
			t.Errorf("%q: status %d", args, code)
		}
		expectLine(t, stderr, want)
	}
	_, stdout, stderr := run(t, "top", "--once", "--nats", b.url(), "--interval", "100ms", "--credentials", dir)
	if strings.Contains(stdout+stderr, "access") || !strings.Contains(stdout+stderr, "lab") {
		t.Errorf("%s%s", stdout, stderr)
	}
}

// The key of the server's own process is good within it alone.
func TestServersOwnKey(t *testing.T) {
	b, _ := guarded(t, credentials(t), "127.0.0.1:-1")
	if err := b.answers(); err != nil {
		t.Error(err)
	}
	ca := nats.Secure(&tls.Config{InsecureSkipVerify: true}) //nolint:gosec // a test of what comes after TLS
	nc, err := nats.Connect(b.url(), append(b.own, ca)...)
	if err == nil {
		nc.Close()
	}
	if !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("from outside: %v", err)
	}
}

// A stranger who speaks the protocol by hand hears nothing either.
func TestServerSaysNothingBeforeTheKey(t *testing.T) {
	dir := credentials(t)
	b, _ := guarded(t, dir, "127.0.0.1:-1")
	conn, err := net.Dial("tcp", b.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte("CONNECT {\"verbose\":false}\r\nSUB face.> 1\r\nPING\r\n")); err != nil {
		t.Fatal(err)
	}
	var heard bytes.Buffer
	_, _ = heard.ReadFrom(conn) // until the server closes the connection
	if text := heard.String(); !strings.HasPrefix(text, "INFO {") || strings.Contains(text, "PONG") || strings.Contains(text, "MSG") {
		t.Errorf("heard %q", text)
	}
}

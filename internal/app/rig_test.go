package app

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/testmodels"
	"facetrack/ipc"
)

// deadline is how long anything may take on a busy machine before a test gives up.
const deadline = 60 * time.Second

var quiet = slog.New(slog.DiscardHandler)

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// parse reads a command line as Main does.
func parse(t *testing.T, args ...string) (*CLI, error) {
	t.Helper()
	cli := &CLI{}
	parser, err := kong.New(cli, kong.Name("facetrack"), kong.Vars{"stages": strings.Join(stage.Names, ", ")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(args)
	return cli, err
}

// printed runs do and returns what went to stdout and stderr meanwhile.
func printed(t *testing.T, do func()) (stdout, stderr string) {
	t.Helper()
	files := [2]*os.File{}
	for i := range files {
		f, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		files[i] = f
	}
	out, errOut := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = files[0], files[1]
	defer func() { os.Stdout, os.Stderr = out, errOut }()
	do()
	texts := [2]string{}
	for i, f := range files {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
		_ = f.Close()
	}
	return texts[0], texts[1]
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// startNATS runs a server with JetStream.
func startNATS(t *testing.T) *server.Server {
	t.Helper()
	cfg := config.Default()
	cfg.DataDir, cfg.NATS.Listen = t.TempDir(), "127.0.0.1:-1"
	s, err := startBus(t.Context(), cfg, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s.Server
}

func connect(t *testing.T, s *server.Server) *ipc.Conn {
	t.Helper()
	nc, err := ipc.Connect(s.ClientURL(), t.Name(), quiet, nats.Timeout(deadline))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return nc
}

// drawnFaces is a configuration file with the networks for drawn faces and everything in folders of the test.
func drawnFaces(t *testing.T) string {
	t.Helper()
	files, err := testmodels.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "facetrack.yaml", "rig: apptest\n"+
		"ring: {dir: "+t.TempDir()+"}\ninfer: {backend: reference}\nlsl: {enabled: false}\n"+
		"detect: {model: "+files.Detector+"}\nlandmarks: {model: "+files.Landmarks+"}\n")
}

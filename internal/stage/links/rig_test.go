package links

import (
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"facetrack/gpuring"
	"facetrack/internal/clock"
	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

// deadline is how long anything may take on a busy machine before a test gives up.
const deadline = 60 * time.Second

var (
	quiet    = slog.New(slog.DiscardHandler)
	geometry = gpuring.Geometry{Width: 32, Height: 16, Format: gpuring.BGR, Slots: 3}
)

// rig is a NATS server with the ring and the pixel server of one camera.
type rig struct {
	t      *testing.T
	url    string
	dir    string
	writer gpuring.Writer
	server *ipc.Server
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(deadline) {
		t.Fatal("the NATS server does not start")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	r := &rig{t: t, url: s.ClientURL(), dir: t.TempDir()}
	r.start()
	return r
}

// start is what capture does for a camera.
func (r *rig) start() {
	r.t.Helper()
	w, err := gpuring.Create(gpuring.Options{Dir: r.dir, Rig: "lab", Camera: "cam", Geometry: geometry})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = w.Close() })
	s, err := ipc.NewServer(connect(r.t, r.url).Conn, "lab", "cam", w, quiet, ipc.ServerOptions{MaxSilence: deadline})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = s.Close() })
	r.writer, r.server = w, s
}

// publish writes a frame whose bytes are all its number.
func (r *rig) publish() ipc.Frame {
	r.t.Helper()
	claim, err := r.writer.Begin()
	if err != nil {
		r.t.Fatal(err)
	}
	seq := r.writer.NextSeq()
	pix := claim.View().Host
	for i := range pix {
		pix[i] = byte(seq)
	}
	t, err := claim.Publish(seq)
	if err != nil {
		r.t.Fatal(err)
	}
	return ipc.Frame{
		Camera: "cam", Seq: seq, CaptureNS: clock.Now(), WallNS: clock.Wall(), Ring: t.RingID, Slot: t.Slot,
		Generation: t.Generation, Width: geometry.Width, Height: geometry.Height, Format: string(geometry.Format),
	}
}

func connect(t testing.TB, url string) *ipc.Conn {
	t.Helper()
	nc, err := ipc.Connect(url, "links-test", quiet, nats.Timeout(deadline))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return nc
}

func newSet(t testing.TB, url string, transports ...string) *Set {
	t.Helper()
	set := setOn(connect(t, url), transports...)
	t.Cleanup(func() { _ = set.Close() })
	return set
}

func setOn(nc *ipc.Conn, transports ...string) *Set {
	cfg := config.Default()
	cfg.Rig, cfg.Ring.Dir = "lab", "" // where capture says
	if len(transports) > 0 {
		cfg.Ring.Transports = transports
	}
	return New(&stage.Env{Name: "detect", Config: cfg, Bus: nc.Conn, Telemetry: telemetry.New("detect"), Log: quiet})
}

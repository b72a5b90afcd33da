package detect

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"facetrack/gpuring"
	"facetrack/internal/clock"
	"facetrack/internal/config"
	"facetrack/internal/source"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/internal/testmodels"
	"facetrack/ipc"
)

// deadline is how long anything may take on a busy machine before a test gives up.
const deadline = 60 * time.Second

var quiet = slog.New(slog.DiscardHandler)

// rig is a NATS server, a camera that draws faces into a ring, and somebody who listens to the stage.
type rig struct {
	t      *testing.T
	url    string
	cfg    config.Config
	nc     *ipc.Conn
	params source.SyntheticParams
	src    source.Source
	writer gpuring.Writer
	env    *stage.Env
	out    chan ipc.Detections
	drops  chan ipc.Drop
}

func newRig(t *testing.T, spec string, slots int) *rig {
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
	r := &rig{t: t, url: s.ClientURL(), cfg: config.Default(), out: make(chan ipc.Detections, 256), drops: make(chan ipc.Drop, 256)}
	files, err := testmodels.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r.cfg.Rig, r.cfg.Ring.Dir, r.cfg.Detect.Model = "lab", t.TempDir(), files.Detector
	r.cfg.Infer = config.Infer{Backend: "reference", Threads: 1, Workers: 2}
	r.cfg.Detect.MaxQueue = slots
	r.nc = r.connect()
	r.listen()
	r.film(spec, slots)
	return r
}

func (r *rig) connect() *ipc.Conn {
	r.t.Helper()
	nc, err := ipc.Connect(r.url, r.t.Name(), quiet, nats.Timeout(deadline))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = nc.Close() })
	return nc
}

func (r *rig) listen() {
	r.t.Helper()
	_, err := r.nc.Subscribe(ipc.AllCameras("lab", ipc.KindDetections), func(m *nats.Msg) {
		d, err := ipc.DecodeDetections(m.Data)
		if err != nil {
			r.t.Error(err)
		}
		r.out <- d
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err = r.nc.Subscribe(ipc.AllCameras("lab", ipc.KindDrops), func(m *nats.Msg) {
		d, err := ipc.DecodeDrop(m.Data)
		if err != nil {
			r.t.Error(err)
		}
		r.drops <- d
	}); err != nil {
		r.t.Fatal(err)
	}
}

// film is capture: a ring with its server and a source.
func (r *rig) film(spec string, slots int) {
	r.t.Helper()
	var err error
	if r.params, err = source.ParseSynthetic(spec); err != nil {
		r.t.Fatal(err)
	}
	r.src = source.NewSynthetic(r.params)
	g := gpuring.Geometry{Width: r.params.Width, Height: r.params.Height, Format: gpuring.Format(r.params.Format), Slots: slots}
	if r.writer, err = gpuring.Create(gpuring.Options{Dir: r.cfg.Ring.Dir, Rig: "lab", Camera: "cam", Geometry: g}); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = r.writer.Close() })
	s, err := ipc.NewServer(r.connect().Conn, "lab", "cam", r.writer, quiet, ipc.ServerOptions{MaxSilence: deadline})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = s.Close() })
}

// frame draws the next frame into the ring; it is not announced yet.
func (r *rig) frame() ipc.Frame {
	r.t.Helper()
	at, err := r.src.Grab(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	claim, err := r.writer.Begin()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.src.Retrieve(claim.View().Host); err != nil {
		r.t.Fatal(err)
	}
	ticket, err := claim.Publish(r.writer.NextSeq())
	if err != nil {
		r.t.Fatal(err)
	}
	return ipc.Frame{
		Camera: "cam", Seq: ticket.Seq, CaptureNS: at, WallNS: clock.Wall(), Ring: ticket.RingID, Slot: ticket.Slot,
		Generation: ticket.Generation, Width: r.params.Width, Height: r.params.Height, Format: r.params.Format,
		Stamps: ipc.Stamps{Capture: clock.Now()}, MediaNS: 33, Ack: true,
	}
}

func (r *rig) publish(kind ipc.Kind, camera string, m ipc.Message) {
	r.t.Helper()
	if err := ipc.NewPublisher(r.nc.Conn).Publish(ipc.Subject("lab", camera, kind), m); err != nil {
		r.t.Fatal(err)
	}
}

// start runs the stage until the test ends.
func (r *rig) start() {
	r.t.Helper()
	nc := r.connect()
	ready, ended := make(chan struct{}), make(chan error, 1)
	r.env = &stage.Env{
		Name: stage.Detect, Config: r.cfg, Bus: nc.Conn, Out: ipc.NewPublisher(nc.Conn), Telemetry: telemetry.New(stage.Detect),
		Drops: ipc.NewDrops(nc.Conn, "lab", stage.Detect, quiet), Log: quiet, Ready: func() { close(ready) },
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- Run(ctx, r.env) }()
	select {
	case <-ready:
	case err := <-ended:
		r.t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		cancel()
		if err := next(r.t, ended); err != nil {
			r.t.Errorf("the stage ends with %v", err)
		}
		_ = r.env.Drops.Close()
	})
}

func next[M any](t *testing.T, from chan M) M {
	t.Helper()
	select {
	case m := <-from:
		return m
	case <-time.After(deadline):
		var m M
		t.Fatalf("no %T came", m)
		return m
	}
}

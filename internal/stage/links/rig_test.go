package links

import (
	"testing"

	"facetrack/gpuring"
	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/stage/stagetest"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

var geometry = gpuring.Geometry{Width: 32, Height: 16, Format: gpuring.BGR, Slots: 3}

// rig is the ring and the pixel server of one camera.
type rig struct {
	*stagetest.Bus
	*stagetest.Ring
	dir string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{Bus: stagetest.NewBus(t), dir: t.TempDir()}
	r.start()
	return r
}

// start is what capture does for a camera.
func (r *rig) start() {
	r.T.Helper()
	r.Ring = stagetest.NewRing(r.Bus, r.dir, geometry)
}

// publish writes a frame whose bytes are all its number.
func (r *rig) publish() ipc.Frame {
	r.T.Helper()
	return r.Write(func(seq uint64, pix []byte) error {
		for i := range pix {
			pix[i] = byte(seq)
		}
		return nil
	})
}

// newSet returns a set on a connection of its own.
func (r *rig) newSet(transports ...string) *Set {
	r.T.Helper()
	return r.setWith(func(c *config.Config) {
		if len(transports) > 0 {
			c.Ring.Transports = transports
		}
	})
}

func (r *rig) setWith(change func(*config.Config)) *Set {
	r.T.Helper()
	set := setOn(r.Connect(), change)
	r.T.Cleanup(func() {
		if err := set.Close(); err != nil {
			r.T.Error(err)
		}
	})
	return set
}

func setOn(nc *ipc.Conn, change func(*config.Config)) *Set {
	cfg := config.Default()
	cfg.Rig, cfg.Ring.Dir = stagetest.Rig, "" // where capture says
	change(&cfg)
	return New(&stage.Env{Name: "detect", Config: cfg, Bus: nc.Conn, Out: ipc.NewPublisher(nc.Conn), Telemetry: telemetry.New("detect"), Log: stagetest.Quiet})
}

func unchanged(*config.Config) {}

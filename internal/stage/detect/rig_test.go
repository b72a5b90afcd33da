package detect

import (
	"testing"

	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
)

// rig is a camera that draws faces, and somebody who listens to the stage.
type rig struct {
	*stagetest.Bus
	*stagetest.Film
	cfg   config.Config
	env   *stage.Env
	stop  func() error
	out   <-chan ipc.Detections
	drops <-chan ipc.Drop
}

func newRig(t *testing.T, spec string, slots int) *rig {
	t.Helper()
	b := stagetest.NewBus(t)
	cfg := b.Config()
	cfg.Detect.MaxQueue, cfg.CUDA.GPU = slots, "off" // the driver is loaded once, by the tests on a GPU
	return &rig{
		Bus: b, Film: stagetest.NewFilm(b, cfg.Ring.Dir, spec, slots), cfg: cfg,
		out:   stagetest.Hear(b, ipc.KindDetections, ipc.DecodeDetections),
		drops: stagetest.Hear(b, ipc.KindDrops, ipc.DecodeDrop),
	}
}

// start runs the stage until the test ends.
func (r *rig) start() {
	r.T.Helper()
	r.env, r.stop = r.Run(stage.Detect, r.cfg, Run)
}

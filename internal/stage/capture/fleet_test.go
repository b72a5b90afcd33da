package capture

import (
	"context"
	"errors"
	"testing"

	"facetrack/internal/config"
	"facetrack/internal/source"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
)

// crowd is a fleet under test, and the frames of each camera.
type crowd struct {
	*rig
	fleet *fleet
	now   config.Config
	next  map[string]uint64 // frame that is to come
}

func newCrowd(t *testing.T, cameras ...config.Camera) *crowd {
	t.Helper()
	r := newRig(t, cameras...)
	c := &crowd{rig: r, fleet: newFleet(t.Context(), r.env), now: r.env.Config, next: map[string]uint64{}}
	members, err := c.fleet.open(cameras)
	if err != nil {
		t.Fatal(err)
	}
	if err := follow(r.env, c.fleet.flight); err != nil {
		t.Fatal(err)
	}
	if err := c.fleet.start(members); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.fleet.close)
	return c
}

func endless(name string) config.Camera {
	c := drawn("synthetic:faces=0,size=160x120,fps=50", "realtime")
	c.Name = name
	return c
}

// change applies another list of cameras.
func (c *crowd) change(cameras ...config.Camera) error {
	c.T.Helper()
	next := c.now
	next.Cameras = cameras
	err := c.fleet.apply(c.now, next)
	if err == nil {
		c.now = next
	}
	return err
}

// hears waits until each of the cameras has given so many frames more, each after the one before.
func (c *crowd) hears(n int, cameras ...string) {
	c.T.Helper()
	left := map[string]int{}
	for _, name := range cameras {
		left[name] = n
	}
	for len(left) > 0 {
		f := stagetest.Next(c.T, c.frames)
		if f.Seq != c.next[f.Camera] {
			c.T.Errorf("%s: frame %d, want %d", f.Camera, f.Seq, c.next[f.Camera])
		}
		c.next[f.Camera] = f.Seq + 1
		c.ack(f)
		if left[f.Camera]--; left[f.Camera] <= 0 {
			delete(left, f.Camera)
		}
	}
}

// Cameras come and go, come back, and the first one notices nothing: no frame of it is missing. The numbers of one that is back go on, also
// where no bucket keeps them.
func TestCamerasComeAndGo(t *testing.T) {
	first, second := endless("first"), endless("second")
	c := newCrowd(t, first)
	c.hears(3, "first")
	if err := c.change(first, second); err != nil {
		t.Fatal(err)
	}
	c.hears(3, "first", "second")
	for range 2 { // also one that is back
		if err := c.change(first); err != nil {
			t.Fatal(err)
		}
		if end := stagetest.Next(t, c.ends); end.Camera != "second" || end.Reason != ipc.EndRemoved {
			t.Errorf("end %+v", end)
		}
		c.hears(5, "first")
		c.fleet.awaitEnd("second")
		if c.fleet.flight("second") != nil {
			t.Error("a camera that was removed is still there")
		}
		if err := c.change(first, second); err != nil {
			t.Fatal(err)
		}
		c.hears(3, "first", "second")
	}
	c.fleet.fail()
	if err := c.fleet.wait(); err != nil {
		t.Error(err)
	}
}

// Of several new cameras all come, or none.
func TestCameraThatCannotBeOpenedChangesNothing(t *testing.T) {
	first := endless("first")
	c := newCrowd(t, first)
	broken := endless("broken")
	broken.Source = "/nowhere.mkv"
	if err := c.change(first, endless("second"), broken); !errors.Is(err, source.ErrNotFound) || err.Error()[:14] != "camera broken:" {
		t.Errorf("change: %v", err)
	}
	if c.fleet.flight("second") != nil {
		t.Error("half of the change was made")
	}
	c.hears(5, "first")
	if err := c.change(first, endless("second")); err != nil {
		t.Fatal(err)
	}
	c.hears(3, "first", "second")
}

// A camera that has ended by itself can be removed, and its name be given to another.
func TestEndedCameraIsRemovedAndReplaced(t *testing.T) {
	first, short := endless("first"), drawn("synthetic:faces=0,frames=3,size=160x120", "max")
	short.Name = "short"
	c := newCrowd(t, first, short)
	c.hears(3, "short")
	if end := stagetest.Next(t, c.ends); end.Camera != "short" || end.Reason != ipc.EndOfSource {
		t.Errorf("end %+v", end)
	}
	if err := c.change(first); err != nil {
		t.Fatal(err)
	}
	if err := c.change(first, endless("short")); err != nil {
		t.Fatal(err)
	}
	c.hears(3, "first", "short")
}

func TestFleetThatHasEndedTakesNoCamera(t *testing.T) {
	short := drawn("synthetic:faces=0,frames=1,size=160x120", "max")
	c := newCrowd(t, short)
	c.hears(1, "cam0")
	if err := c.fleet.wait(); err != nil {
		t.Fatal(err)
	}
	if err := c.change(short, endless("second")); err == nil || err.Error() != "capture has ended" {
		t.Errorf("change: %v", err)
	}
	if err := context.Cause(c.fleet.ctx); err != nil {
		t.Errorf("the end of a source ends the fleet with %v", err)
	}
}

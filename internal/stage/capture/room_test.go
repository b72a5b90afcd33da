package capture

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
	"facetrack/internal/stage"
)

// Where two rings have no room beside each other, the old one goes first.
func TestNoRoomForTwoRings(t *testing.T) {
	for _, full := range []error{gpuring.ErrNoSpace, errors.Join(gpuring.ErrDevice, cuda.OutOfMemory)} {
		r := newRig(t)
		var open atomic.Int32
		r.gpus.create = func(o gpuring.Options) (gpuring.Writer, error) {
			if open.Load() > 0 {
				return nil, full
			}
			w, err := gpuring.Create(o)
			open.Add(1)
			return counted{w, &open}, err
		}
		c := r.camera(drawn("synthetic:faces=0,size=160x120", "realtime"))
		src := c.replace(t)
		src.then = c.info
		c.limits.linger = time.Hour
		r.grab(c, src)
		r.next(0)
		if err := c.renewRing(); err != nil {
			t.Fatal(err)
		}
		r.grab(c, src)
		r.checkFilled(r.next(1), 2)
		if s := r.env.Telemetry.Snapshot().Cameras["cam0"]; s.State != "running" {
			t.Errorf("state %q", s.State)
		}
	}
}

// The same on a tmpfs without room for two, with a consumer that is attached.
func TestNoRoomBesideAReader(t *testing.T) {
	t.Run("on a small tmpfs", func(t *testing.T) {
		r, dir := newRig(t), t.TempDir()
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=384k"); err != nil {
			t.Skip("SKIPPED: needs the right to mount: " + err.Error())
		}
		t.Cleanup(func() {
			if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		r.env.Config.Ring.Dir = dir
		r.renewBesideAReader()
	})
	t.Run("as if there were no room", func(t *testing.T) {
		r := newRig(t)
		r.gpus.create = func(o gpuring.Options) (gpuring.Writer, error) {
			if maps, err := os.ReadFile("/proc/self/maps"); err != nil || bytes.Contains(maps, []byte(o.Dir+"/facetrack-"+o.Rig+"-cam0.pix")) {
				return nil, errors.Join(gpuring.ErrNoSpace, err)
			}
			return gpuring.Create(o)
		}
		r.renewBesideAReader()
	})
}

func (r *rig) renewBesideAReader() {
	c := r.camera(drawn("synthetic:faces=0,size=160x120,format=BGR", "realtime"))
	src, link := c.replace(r.T.(*testing.T)), r.link()
	src.then = c.info
	for n := range 4 {
		r.grab(c, src)
		f := r.next(uint64(n))
		r.readFilled(link, f, byte(n+1))
		r.ack(f)
		if err := c.renewRing(); err != nil {
			r.T.Fatal(err)
		}
	}
}

// What a restart may cure ends the process only for a moment.
func TestNoRoomIsNotForEver(t *testing.T) {
	r := newRig(t)
	fails := gpuring.ErrNoSpace
	r.gpus.create = func(o gpuring.Options) (gpuring.Writer, error) {
		if fails != nil {
			return nil, fails
		}
		return gpuring.Create(o)
	}
	open := func() (*camera, error) {
		return openCamera(t.Context(), r.env, r.gpus, drawn("synthetic:faces=0,size=160x120", "realtime"), 0)
	}
	if _, err := open(); !errors.Is(err, stage.ErrPermanent) {
		t.Errorf("a folder that is full: %v", err)
	}
	fails = errors.Join(gpuring.ErrCrowded, gpuring.ErrNoSpace)
	if _, err := open(); err == nil || errors.Is(err, stage.ErrPermanent) {
		t.Errorf("a folder with the ring before: %v", err)
	}
	fails = nil
	c, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	fails = gpuring.ErrNoSpace
	if err := c.renewRing(); err == nil || errors.Is(err, stage.ErrPermanent) {
		t.Errorf("a ring beside the one before: %v", err)
	}
}

// A GPU that keeps the old ring from its end gets no other, also where that one has to go first.
func TestNoRoomAndAGPUThatHangs(t *testing.T) {
	r, _ := newRigWithGPU(t)
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "realtime"))
	src := c.replace(t)
	src.then = c.info
	c.limits.goodbye = time.Millisecond
	may := make(chan struct{})
	c.ring = slowRing{c.ring, may}
	defer close(may)
	var tried []bool
	r.gpus.create = func(o gpuring.Options) (gpuring.Writer, error) {
		if tried = append(tried, o.GPU != nil); len(tried) == 1 {
			return nil, gpuring.ErrNoSpace
		}
		return gpuring.Create(o)
	}
	if err := c.renewRing(); err != nil {
		t.Fatal(err)
	}
	if len(tried) != 2 || !tried[0] || tried[1] {
		t.Errorf("rings on the GPU: %v, want the first only", tried)
	}
	if s := r.ringStatus(); s.GPU != "" || !strings.Contains(s.NoGPU, "has not freed ring") {
		t.Errorf("ring %+v", s)
	}
}

// Where a recording goes on after a death is known from a ring's first moment.
func TestPositionOfAReplacedRing(t *testing.T) {
	r, _ := newRigWithGPU(t)
	var begins []int64
	r.gpus.create = func(o gpuring.Options) (gpuring.Writer, error) {
		w, err := gpuring.Create(o)
		if err == nil {
			begins = append(begins, w.Position())
		}
		return w, err
	}
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "realtime"))
	src := c.replace(t)
	src.then = c.info
	for seq := range uint64(3) {
		r.grab(c, src)
		r.next(seq)
	}
	if err := c.renewRing(); err != nil {
		t.Fatal(err)
	}
	faults(t, "cuMemcpyHtoDAsync=719")
	r.grab(c, src)
	r.next(3)
	if want := []int64{0, 3, 3}; !slices.Equal(begins, want) || c.ring.Position() != 4 {
		t.Errorf("rings begin at %v, want %v; position %d", begins, want, c.ring.Position())
	}
}

// counted is a ring that takes room until it is closed.
type counted struct {
	gpuring.Writer
	open *atomic.Int32
}

func (w counted) Close() error {
	defer w.open.Add(-1)
	return w.Writer.Close()
}

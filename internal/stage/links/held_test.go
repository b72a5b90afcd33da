//go:build cuda

package links

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"facetrack/gpuring"
	"facetrack/internal/config"
	"facetrack/internal/cuda"
	"facetrack/ipc"
	"facetrack/vision"
)

// readOnDevice holds a frame for a GPU and reads its pixels there, as a kernel would.
func readOnDevice(set *Set, f ipc.Frame) (o outcome) {
	o.Reason, o.Err = func() (string, string) {
		device, err := cuda.SelectDevice("auto")
		if err != nil {
			return "", err.Error()
		}
		held, reason, err := set.Hold(context.Background(), &f, &device.UUID)
		if err != nil {
			return reason, err.Error()
		}
		pixels, err := held.read(device)
		if o.Used = held.Device != 0 && held.Image.Pix == nil; err == nil && !wholeFrame(pixels, f.Seq) {
			err = errors.New("wrong pixels")
		}
		if reason, err = held.Release(err); err != nil {
			return reason, err.Error()
		}
		return reason, ""
	}()
	o.Link = set.env.Telemetry.Snapshot().Cameras[f.Camera].Link
	return o
}

func (h *Held) read(device cuda.Device) (pixels []byte, err error) {
	if h.Device == 0 {
		return h.Image.Pix, nil
	}
	gpu, err := cuda.Open(device)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, gpu.Close()) }()
	stream, err := gpu.NewStream()
	if err != nil {
		return nil, err
	}
	pixels = make([]byte, geometry.FrameBytes())
	return pixels, errors.Join(h.Wait(stream), stream.Download(pixels, h.Device), stream.Synchronize(), stream.Close())
}

func wholeFrame(pixels []byte, seq uint64) bool {
	for _, v := range pixels {
		if v != byte(seq) {
			return false
		}
	}
	return len(pixels) == geometry.FrameBytes()
}

func TestHoldOnTheDevice(t *testing.T) {
	r := newGPURig(t)
	set := r.newSet()
	for range 3 * geometry.Slots {
		if o := readOnDevice(set, r.write()); !o.Used || o.Reason != "" || o.Err != "" || o.Link.Transport != "cuda" {
			t.Errorf("%+v", o)
		}
	}
}

func TestHoldOnTheDeviceOfAnotherProcess(t *testing.T) {
	r := newGPURig(t)
	child := startConsumer(t, r.URL, streamEnv+"=device")
	for range 3 * geometry.Slots {
		if o := child.use(r.write()); !o.Used || o.Reason != "" || o.Err != "" || o.Link.Transport != "cuda-ipc" {
			t.Errorf("%+v, link %+v", o, o.Link)
		}
	}
}

// Where the device memory is not the networks', a frame is in host memory.
func TestHoldInHostMemory(t *testing.T) {
	r := newGPURig(t)
	device, err := cuda.SelectDevice("auto")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		set *Set
		gpu *cuda.UUID
	}{
		"no GPU":      {r.newSet(), nil},
		"another GPU": {r.newSet(), &cuda.UUID{1, 2, 3}},
		"shm":         {r.newSet("shm"), &device.UUID},
		"copy":        {r.newSet("copy"), &device.UUID},
		"off":         {r.setWith(func(c *config.Config) { c.CUDA.GPU = "off" }), &device.UUID},
	} {
		f := r.write()
		held, reason, err := c.set.Hold(t.Context(), &f, c.gpu)
		if err != nil {
			t.Fatalf("%s: %s: %v", name, reason, err)
		}
		if held.Device != 0 || !wholeFrame(held.Image.Pix, f.Seq) {
			t.Errorf("%s: at %#x, %d bytes", name, held.Device, len(held.Image.Pix))
		}
		if reason, err := held.Release(nil); reason != "" || err != nil {
			t.Errorf("%s: %q, %v", name, reason, err)
		}
	}
}

// A message that claims more pixels than a slot has is not read beyond it.
func TestHoldOfAFrameThatDoesNotFit(t *testing.T) {
	r := newGPURig(t)
	set := r.newSet()
	device, err := cuda.SelectDevice("auto")
	if err != nil {
		t.Fatal(err)
	}
	for _, gpu := range []*cuda.UUID{nil, &device.UUID} {
		for _, change := range []func(*ipc.Frame){
			func(f *ipc.Frame) { f.Height++ }, func(f *ipc.Frame) { f.Width = 1 << 20 }, func(f *ipc.Frame) { f.Format = "RAW" },
		} {
			f := r.write()
			change(&f)
			if held, reason, err := set.Hold(t.Context(), &f, gpu); held != nil || reason != ReasonBadFrame || !errors.Is(err, vision.ErrImage) {
				t.Errorf("%v, %q, %v", held, reason, err)
			}
		}
	}
	if n := r.Writer.Stats().Held; n != 0 {
		t.Errorf("%d slots are still held", n)
	}
}

func TestReleaseSaysWhoIsToBlame(t *testing.T) {
	r := newGPURig(t)
	set := r.newSet()
	device, err := cuda.SelectDevice("auto")
	if err != nil {
		t.Fatal(err)
	}
	gone := fmt.Errorf("%w: gone", gpuring.ErrDevice)
	for want, used := range map[string]error{
		ReasonGPU: gone, ReasonInference: vision.ErrNonFinite, ReasonBadFrame: vision.ErrImage, "": nil,
	} {
		f := r.write()
		held, _, err := set.Hold(t.Context(), &f, &device.UUID)
		if err != nil {
			t.Fatal(err)
		}
		if reason, err := held.Release(used); reason != want || !errors.Is(err, used) {
			t.Errorf("%v: %q, %v", used, reason, err)
		}
	}
}

func TestPrompt(t *testing.T) {
	r := newGPURig(t)
	for transport, want := range map[string]bool{"cuda-ipc": true, "shm": true, "copy": false} {
		set := r.newSet(transport)
		f := r.write()
		if set.Prompt(&f) {
			t.Errorf("%s: prompt before it was attached", transport)
		}
		held, reason, err := set.Hold(t.Context(), &f, nil)
		if err != nil {
			t.Fatalf("%s: %v", reason, err)
		}
		if set.Prompt(&f) != want {
			t.Errorf("%s: prompt %v", transport, !want)
		}
		if reason, err := held.Release(nil); err != nil {
			t.Errorf("%s: %s: %v", transport, reason, err)
		}
		if f.Ring = strings.TrimSuffix(f.Ring, "1") + "7"; set.Prompt(&f) {
			t.Errorf("%s: prompt on a ring that it is not attached to", transport)
		}
	}
}

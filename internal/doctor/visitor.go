package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
	"facetrack/internal/fault"
	"facetrack/internal/kernels"
)

// visitor is the child's side: it opens the ring of its parent and reads what the parent writes.
type visitor struct {
	ring   gpuring.Descriptor
	reader gpuring.Reader

	device gpuring.DeviceReader // nil for host memory
	gpu    *cuda.Context
	stream *cuda.Stream
	frame  *cuda.Pinned
}

// Serve is the child: it answers the questions on in until that ends.
func Serve(in io.Reader, out io.Writer) error {
	v := &visitor{}
	defer v.close()
	questions, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var q question
		if err := questions.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("facetrack doctor: the second process was asked nonsense: %w", err)
		}
		a, err := v.do(q)
		if err != nil {
			a = answer{Error: err.Error(), Cure: cureOf(err)}
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}

func (v *visitor) do(q question) (answer, error) {
	switch {
	case q.Op == opOpen && q.Ring != nil && q.Sync == "":
		return v.openHost(*q.Ring)
	case q.Op == opOpen && q.Ring != nil && q.Ring.Device != nil:
		return v.openDevice(*q.Ring, q.Sync)
	case q.Op == opProve && v.device != nil && len(q.Challenge) == 64:
		return answer{}, v.device.Prove(q.Cell, [64]byte(q.Challenge))
	case q.Op == opRead && v.reader != nil:
		return v.read(q.Ticket)
	}
	return answer{}, fmt.Errorf("the second process cannot %q now", q.Op)
}

const visitorName = "doctor"

func (v *visitor) openHost(d gpuring.Descriptor) (answer, error) {
	began := time.Now()
	r, err := gpuring.Open(d, visitorName)
	if err != nil {
		return answer{}, err
	}
	v.ring, v.reader = d, r
	return answer{AttachMS: milliseconds(began)}, nil
}

func (v *visitor) openDevice(d gpuring.Descriptor, sync gpuring.Sync) (_ answer, err error) {
	id, err := cuda.ParseUUID(d.Device.GPU)
	if err != nil {
		return answer{}, err
	}
	device, err := cuda.DeviceByUUID(id)
	if err != nil {
		return answer{}, err
	}
	if v.gpu, err = cuda.Open(device); err != nil {
		return answer{}, err
	}
	began := time.Now()
	r, err := openRing(d, gpuring.DeviceOptions{GPU: v.gpu, Sync: sync})
	if err != nil {
		return answer{}, err
	}
	a := answer{AttachMS: milliseconds(began)}
	v.ring, v.reader = d, r
	var isDevice bool
	if v.device, isDevice = r.(gpuring.DeviceReader); !isDevice {
		return a, fmt.Errorf("%w: the ring has none", gpuring.ErrNotShared)
	}
	a.Sync = string(v.device.Sync())
	if v.stream, err = v.gpu.NewStream(); err == nil {
		v.frame, err = v.gpu.AllocPinned(d.Geometry.FrameBytes())
	}
	return a, err
}

// openRing is gpuring.OpenDevice, unless a test wants it to fail as it does on other systems.
func openRing(d gpuring.Descriptor, o gpuring.DeviceOptions) (gpuring.Reader, error) {
	switch {
	case fault.At("pid") != "":
		return nil, &cuda.Error{Call: "cuIpcOpenMemHandle", Code: cuda.InvalidContext, Name: "CUDA_ERROR_INVALID_CONTEXT"}
	case fault.At("permission") != "":
		return nil, &cuda.Error{Call: "cuIpcOpenMemHandle", Code: cuda.NotPermitted, Name: "CUDA_ERROR_NOT_PERMITTED"}
	}
	return gpuring.OpenDevice(d, visitorName, o)
}

// read takes a frame into this process's host memory and looks at every byte of it.
func (v *visitor) read(t gpuring.Ticket) (a answer, err error) {
	lease, err := v.reader.Lease(t)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, lease.Release()) }()
	pixels := lease.View().Host
	if v.device != nil {
		if err := v.fetch(lease.View()); err != nil {
			return a, err
		}
		pixels = v.frame.Bytes()
	}
	began := time.Now()
	rowBytes, rows := shape(v.ring.Geometry)
	if wrong := kernels.CheckHost(pixels, rowBytes, rows, t.Seq); wrong > 0 {
		return a, fmt.Errorf("%w: %d of %d tiles of frame %d are not what was written", gpuring.ErrTorn, wrong, kernels.Tiles(rowBytes, rows), t.Seq)
	}
	a.CheckUS = microseconds(began)
	return a, nil
}

// fetch waits for the frame on the GPU and brings it here.
func (v *visitor) fetch(from gpuring.View) error {
	if err := from.Fence.Wait(v.stream); err != nil {
		return err
	}
	if err := v.stream.Download(v.frame.Bytes(), from.Device); err != nil {
		return err
	}
	return v.stream.Synchronize()
}

func (v *visitor) close() {
	for _, c := range []io.Closer{v.frame, v.stream} {
		_ = c.Close()
	}
	if v.reader != nil {
		_ = v.reader.Close()
	}
	_ = v.gpu.Close()
}

// shape is a frame as rows of bytes.
func shape(g gpuring.Geometry) (rowBytes, rows int) {
	return g.FrameBytes() / (g.Height * 3 / 2), g.Height * 3 / 2
}

// microseconds and milliseconds since a time, with as many digits as mean something.
func microseconds(since time.Time) float64 { return math.Round(float64(time.Since(since))/100) / 10 }
func milliseconds(since time.Time) float64 { return math.Round(float64(time.Since(since))/1e4) / 100 }

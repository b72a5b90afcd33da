package gpuvision

import (
	"errors"
	"fmt"
	"log/slog"

	"facetrack/infer"
	gpu "facetrack/infer/cuda"
	"facetrack/internal/cuda"
	"facetrack/internal/kernels/faces"
	"facetrack/internal/kernels/image"
	"facetrack/internal/kernels/nn"
	"facetrack/vision"
)

// Detector finds faces in whole frames. It is used by one goroutine at a time; its Clones share its networks.
type Detector struct {
	*detection
	leave  func() error
	net    *gpu.Exec
	pass   *pass
	intake intake
	tables tables
	closed bool

	arrivals []arrival // of a run, and memory for the next
	which    []int
}

// detection is what a Detector and its Clones share.
type detection struct {
	counted
	decoding
	device *Device
	net    *gpu.Network
	most   int
	log    *slog.Logger
}

// NewDetector makes a detector of kind "yunet" or "blazeface"; the graph stays the caller's. Errors wrap vision.ErrModel when the
// graph is not of that kind. It looks at one frame, so that what cannot run shows now.
func NewDetector(d *Device, kind string, g *infer.Graph, v vision.DetectorOptions, o Options) (*Detector, error) {
	v, err := checkDetector(kind, g, v)
	if err != nil {
		return nil, err
	}
	d, err = d.again()
	if err != nil {
		return nil, err
	}
	o = o.defaults()
	m := &detection{device: d, most: o.MaxBatch, log: o.Log, decoding: newDecoding(kind, outlineOf(g), v)}
	m.end = m.close
	leave := m.use()
	if m.net, err = gpu.NewNetwork(d.Context(), d.networks.Kernels(), g, gpu.Options{Precision: detectorPrecision(o.Precision), Log: o.Log}); err != nil {
		return nil, errors.Join(err, leave())
	}
	x, err := m.detector()
	if err == nil {
		err = x.try()
	}
	if err != nil {
		return nil, errors.Join(err, x.Close(), leave())
	}
	return x, leave()
}

// detectorPrecision is FP32 unless another is named: which of several candidates wins is a matter of the last digits, and detectors run seldom.
func detectorPrecision(word string) string {
	if word == "" || word == infer.AutoPrecision {
		return infer.FP32
	}
	return word
}

func (m *detection) close() error {
	var err error
	if m.net != nil {
		err = m.net.Close()
	}
	return errors.Join(err, m.device.Close())
}

// detector is one more user of the networks; not nil when it fails.
func (m *detection) detector() (*Detector, error) {
	ctx := m.device.Context()
	x := &Detector{detection: m, leave: m.use(), intake: intake{room: room{from: ctx, log: m.log}}, tables: tables{ctx: ctx, size: m.size, plans: map[geometry]fitting{}}}
	var err error
	if x.net, err = m.net.NewPlainExec(m.most); err != nil {
		return x, err
	}
	s := sizes{item: image.LetterboxBytes, record: m.reduction.RecordBytes(), between: func(n int) int64 { return faces.CandidateBytes(m.priors, n) }}
	x.pass, err = newPass(ctx, s, x.net.MaxBatch(), x.kernels, m.log)
	return x, err
}

// Clone is another Detector on the same networks, for another goroutine. Each is closed by itself.
func (x *Detector) Clone() (*Detector, error) {
	if x.closed {
		return nil, infer.ErrClosed
	}
	c, err := x.detector()
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// kernels queues everything from the items to the records.
func (x *Detector) kernels(stream *cuda.Stream, n int) error {
	input := image.Target{Address: x.net.Input(0), Size: x.size, Half: x.detection.net.InputPrecision(0) == nn.F16}
	candidates := faces.CandidatesAt(x.pass.between, x.priors, x.pass.most)
	if err := x.device.images.Letterbox(stream, x.pass.items, n, x.norm, input); err != nil {
		return err
	}
	if err := x.net.Launch(stream, n); err != nil {
		return err
	}
	if err := x.decode(x.device.faces, stream, x.net, candidates, n); err != nil {
		return err
	}
	return x.device.faces.Reduce(stream, x.reduction, candidates, x.pass.items+image.LetterboxMapping, image.LetterboxBytes, x.pass.records, n)
}

// try looks at a black frame.
func (x *Detector) try() error {
	sights, err := x.Detect([]Frame{black})
	if err == nil && !errors.Is(sights[0].Err, vision.ErrNonFinite) {
		err = sights[0].Err
	}
	if err != nil {
		return fmt.Errorf("trial run: %w", err)
	}
	return nil
}

// MaxBatch is how many frames one run takes.
func (x *Detector) MaxBatch() int { return x.pass.most }

// Parted is how many batches went in parts, since the device had no memory for all their frames of the host. Any goroutine may ask.
func (x *Detector) Parted() int64 { return x.intake.parted.Load() }

// Capture returns when batches of n frames are one graph.
func (x *Detector) Capture(n int) error {
	if x.closed {
		return infer.ErrClosed
	}
	return x.pass.capture(n)
}

// Prepare returns when batches of any size are one graph, so that no capture disturbs the first of them.
func (x *Detector) Prepare() error {
	if x.closed {
		return infer.ErrClosed
	}
	return x.pass.prepare()
}

// Close frees what the Detector alone has. It may be called again.
func (x *Detector) Close() error {
	if x.closed {
		return nil
	}
	x.closed = true
	err := x.pass.close()
	if x.net != nil {
		err = errors.Join(err, x.net.Close())
	}
	return errors.Join(err, x.intake.close(), x.tables.close(), x.leave())
}

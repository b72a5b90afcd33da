package gpuvision

import (
	"errors"
	"fmt"
	"log/slog"

	"facetrack/infer"
	gpu "facetrack/infer/cuda"
	"facetrack/internal/kernels/faces"
	"facetrack/internal/kernels/image"
	"facetrack/internal/kernels/nn"
	"facetrack/topology"
	"facetrack/vision"
)

// Landmarker turns regions into face points, blendshape scores and looks. It is used by one goroutine at a time; its Clones share its
// networks.
type Landmarker struct {
	*landmarks
	leave  func() error
	points *gpu.Exec
	shapes *gpu.Exec // nil without that network
	pass   *pass
	intake intake
	closed bool

	arrivals []arrival // of a run, and memory for the next, as what follows
	tasks    []task
	which    []int
	latest   []faces.Result // of the tasks
}

// landmarks is what a Landmarker and its Clones share.
type landmarks struct {
	counted
	device         *Device
	points, shapes *gpu.Network
	mesh           faces.Mesh
	outputs        vision.FaceOutputs // of points
	threshold      float64
	retries        int
	with           faces.With
	most           int
	log            *slog.Logger
}

// NewLandmarker makes a landmarker as vision.NewLandmarker does; the graphs stay the caller's, blendshapes may be nil. It looks at one
// region, so that what cannot run shows now.
func NewLandmarker(d *Device, points, blendshapes *infer.Graph, v vision.LandmarkerOptions, o Options) (*Landmarker, error) {
	outputs, v, err := checkLandmarks(points, blendshapes, v)
	if err != nil {
		return nil, err
	}
	if d, err = d.again(); err != nil {
		return nil, err
	}
	m := newLandmarks(d, points.InputInfo()[0].Shape[1], outputs, v, o.defaults())
	leave := m.use()
	if err := m.load(points, blendshapes, o.defaults()); err != nil {
		return nil, errors.Join(err, leave())
	}
	x, err := m.landmarker()
	if err == nil {
		err = x.try()
	}
	if err != nil {
		return nil, errors.Join(err, x.Close(), leave())
	}
	return x, leave()
}

func newLandmarks(d *Device, size int, outputs vision.FaceOutputs, v vision.LandmarkerOptions, o Options) *landmarks {
	m := &landmarks{
		device: d, mesh: faces.NewMesh(outputs, size), outputs: outputs,
		threshold: v.PresenceThreshold, retries: v.Retries, with: faces.With{Appearance: !v.NoAppearance, Blendshapes: outputs.Coefficients >= 0}, most: o.MaxBatch, log: o.Log,
	}
	m.end = m.close
	return m
}

func (m *landmarks) load(points, blendshapes *infer.Graph, o Options) (err error) {
	ctx, set, options := m.device.Context(), m.device.networks.Kernels(), gpu.Options{Precision: o.Precision, Log: o.Log}
	if m.points, err = gpu.NewNetwork(ctx, set, points, options); err != nil || blendshapes == nil {
		return err
	}
	m.with.Blendshapes = true
	if m.shapes, err = gpu.NewNetwork(ctx, set, blendshapes, options); err != nil {
		return err
	}
	if m.shapes.InputPrecision(0) != nn.F32 {
		return fmt.Errorf("%w: blendshapes from an image of points", vision.ErrModel)
	}
	return nil
}

func (m *landmarks) close() error {
	var all []error
	for _, n := range []*gpu.Network{m.points, m.shapes} {
		if n != nil {
			all = append(all, n.Close())
		}
	}
	return errors.Join(append(all, m.device.Close())...)
}

// landmarker is one more user of the networks; not nil when it fails.
func (m *landmarks) landmarker() (x *Landmarker, err error) {
	ctx := m.device.Context()
	x = &Landmarker{landmarks: m, leave: m.use(), intake: intake{room: room{from: ctx, log: m.log}}}
	if x.points, err = m.points.NewPlainExec(m.most); err != nil {
		return x, err
	}
	most := x.points.MaxBatch()
	if m.shapes != nil {
		if x.shapes, err = m.shapes.NewPlainExec(most); err != nil {
			return x, err
		}
		most = x.shapes.MaxBatch()
	}
	s := sizes{item: image.RegionBytes, record: m.mesh.RecordBytes(), between: func(n int) int64 { return int64(n * faces.PlaceBytes) }}
	x.pass, err = newPass(ctx, s, most, x.kernels, m.log)
	return x, err
}

// Clone is another Landmarker on the same networks, for another goroutine. Each is closed by itself.
func (x *Landmarker) Clone() (*Landmarker, error) {
	if x.closed {
		return nil, infer.ErrClosed
	}
	c, err := x.landmarker()
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// try looks at a black frame.
func (x *Landmarker) try() error {
	found, err := x.Find([]Look{{black, []vision.ROI{{CX: 32, CY: 32, Size: 64}}}})
	if err == nil && !errors.Is(found[0].Err, vision.ErrNonFinite) {
		err = found[0].Err
	}
	if err != nil {
		return fmt.Errorf("trial run: %w", err)
	}
	return nil
}

// Topology is the set of points that a face has.
func (x *Landmarker) Topology() *topology.Topology { return x.outputs.Set }

// MaxBatch is how many regions one run takes.
func (x *Landmarker) MaxBatch() int { return x.pass.most }

// Parted is how many batches went in parts, since the device had no memory for all their frames of the host. Any goroutine may ask.
func (x *Landmarker) Parted() int64 { return x.intake.parted.Load() }

// Capture returns when batches of n regions are one graph.
func (x *Landmarker) Capture(n int) error {
	if x.closed {
		return infer.ErrClosed
	}
	return x.pass.capture(n)
}

// Prepare returns when batches of any size are one graph, so that no capture disturbs the first of them.
func (x *Landmarker) Prepare() error {
	if x.closed {
		return infer.ErrClosed
	}
	return x.pass.prepare()
}

// Close frees what the Landmarker alone has. It may be called again.
func (x *Landmarker) Close() error {
	if x.closed {
		return nil
	}
	x.closed = true
	all := []error{x.pass.close()}
	for _, e := range []*gpu.Exec{x.points, x.shapes} {
		if e != nil {
			all = append(all, e.Close())
		}
	}
	return errors.Join(append(all, x.intake.close(), x.leave())...)
}

package gpuvision

import (
	"facetrack/internal/cuda"
	"facetrack/internal/kernels/faces"
	"facetrack/internal/kernels/image"
	"facetrack/internal/kernels/nn"
	"facetrack/vision"
)

// kernels queues everything from the items to the records.
func (x *Landmarker) kernels(stream *cuda.Stream, n int) error {
	p := x.pass
	input := image.Target{Address: x.points.Input(0), Size: x.mesh.Size, Half: x.landmarks.points.InputPrecision(0) == nn.F16}
	if err := x.device.images.Crop(stream, p.items, n, vision.RGBUnit, input); err != nil {
		return err
	}
	if err := x.points.Launch(stream, n); err != nil {
		return err
	}
	at := faces.PointsAt{
		Raw: x.output(x.outputs.Points), Presence: x.output(x.outputs.Presence),
		Spread: x.output(x.outputs.Spread), Coefficients: x.output(x.outputs.Coefficients), Turn: x.output(x.outputs.Turn),
		Regions: p.items + image.RegionPlace, RegionBytes: image.RegionBytes,
		Records: p.records, Places: p.between,
	}
	if x.shapes != nil {
		at.Blendshapes = x.shapes.Input(0)
	}
	if err := x.device.faces.Points(stream, x.mesh, at, n); err != nil {
		return err
	}
	shapes := func(s *cuda.Stream) error { return x.describe(s, n) }
	if !x.with.Appearance {
		return shapes(stream)
	}
	return p.both(stream, shapes, func(s *cuda.Stream) error {
		return x.device.images.Appearance(s, p.items, p.between, n, p.records+faces.AppearanceOffset, p.record)
	})
}

// output is where an output of the first network lies, 0 for one that it lacks.
func (x *Landmarker) output(i int) uint64 {
	if i < 0 {
		return 0
	}
	return x.points.Output(i)
}

// describe adds blendshapes, also to faces below the threshold: the host does not know yet.
func (x *Landmarker) describe(stream *cuda.Stream, n int) error {
	if x.shapes == nil {
		return nil
	}
	if err := x.shapes.Launch(stream, n); err != nil {
		return err
	}
	return x.device.faces.Collect(stream, x.mesh, x.shapes.Output(0), x.pass.records, n)
}

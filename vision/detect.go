package vision

import (
	"fmt"
	"math"

	"facetrack/infer"
)

// Detect returns the faces of one frame, best score first.
func (d *Detector) Detect(m Image) ([]Face, error) {
	all, err := d.DetectBatch([]Image{m})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// DetectBatch returns the faces of each frame; frames may differ in size and format.
func (d *Detector) DetectBatch(frames []Image) ([][]Face, error) {
	all := make([][]Face, 0, len(frames))
	for len(frames) > 0 {
		n := min(len(frames), d.opts.MaxBatch)
		faces, err := d.run(frames[:n])
		if err != nil {
			return nil, err
		}
		all = append(all, faces...)
		frames = frames[n:]
	}
	return all, nil
}

func (d *Detector) run(frames []Image) ([][]Face, error) {
	n := len(frames)
	for i, m := range frames {
		mapped, err := d.boxer.Fill(d.in[i*d.floats:(i+1)*d.floats], m)
		if err != nil {
			return nil, err
		}
		d.maps[i] = mapped
	}
	out := make([]infer.Buffer, len(d.out))
	for i := range out {
		out[i].Host = d.out[i][:n*d.lens[i]]
	}
	if err := d.session.Run(n, []infer.Buffer{{Host: d.in[:n*d.floats]}}, out); err != nil {
		return nil, fmt.Errorf("vision: face detection: %w", err)
	}
	for i, b := range out {
		if !finite(b.Host) {
			return nil, fmt.Errorf("%w: face detector, output %q", ErrNonFinite, d.session.Outputs()[i].Name)
		}
	}
	all := make([][]Face, n)
	for i := range all {
		all[i] = d.faces(i)
	}
	return all, nil
}

// faces decodes item i of the batch and maps it to the frame.
func (d *Detector) faces(i int) []Face {
	item := make([][]float32, len(d.out))
	for k, n := range d.lens {
		item[k] = d.out[k][i*n : (i+1)*n]
	}
	found := d.decoder.decode(item, d.opts.ScoreThreshold)
	found = d.decoder.reduce(found, d.opts.NMSThreshold, d.opts.MaxFaces)
	for k := range found {
		found[k].toFrame(d.maps[i])
	}
	return found
}

func (f *Face) toFrame(m Mapping) {
	f.Box[0], f.Box[1] = m.Frame(f.Box[0], f.Box[1])
	f.Box[2] *= m.Scale
	f.Box[3] *= m.Scale
	for i, p := range f.KeyPoints {
		f.KeyPoints[i][0], f.KeyPoints[i][1] = m.Frame(p[0], p[1])
	}
}

// finite tells that no value is NaN or infinite.
func finite(values []float32) bool {
	const exponent = 0x7f800000
	for _, v := range values {
		if math.Float32bits(v)&exponent == exponent {
			return false
		}
	}
	return true
}

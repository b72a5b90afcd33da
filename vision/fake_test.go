package vision

import (
	"errors"

	"facetrack/infer"
)

// fakeSession is a network written by hand: compute sees one batch item.
type fakeSession struct {
	in, out []infer.Info
	compute func(in []float32, out [][]float32)
	batches []int // sizes seen
	err     error
}

func (s *fakeSession) Backend() string       { return "fake" }
func (s *fakeSession) Inputs() []infer.Info  { return s.in }
func (s *fakeSession) Outputs() []infer.Info { return s.out }
func (s *fakeSession) Close() error          { return nil }

func (s *fakeSession) Run(batch int, in, out []infer.Buffer) error {
	if s.err != nil {
		return s.err
	}
	s.batches = append(s.batches, batch)
	if len(in) != 1 || len(in[0].Host) != batch*s.in[0].Len() || len(out) != len(s.out) {
		return errors.New("fake: wrong buffers")
	}
	for b := range batch {
		n := s.in[0].Len()
		item := make([][]float32, len(out))
		for i, o := range s.out {
			if len(out[i].Host) != batch*o.Len() {
				return errors.New("fake: wrong output buffer")
			}
			item[i] = out[i].Host[b*o.Len() : (b+1)*o.Len()]
			clear(item[i])
		}
		s.compute(in[0].Host[b*n:(b+1)*n], item)
	}
	return nil
}

// blob is the centroid of channel c of an image of size × size, in its pixels.
func blob(in []float32, size, c int) (x, y float64) {
	var sum float64
	for i := c; i < len(in); i += 3 {
		v := float64(in[i])
		sum += v
		x += v * (float64(i/3%size) + 0.5)
		y += v * (float64(i/3/size) + 0.5)
	}
	return x / sum, y / sum
}

// fakeYuNet has the outputs of a YuNet with an input of size × size.
func fakeYuNet(size int, compute func(in []float32, out map[string][]float32)) *fakeSession {
	s := &fakeSession{in: []infer.Info{{Name: "input", Shape: []int{1, size, size, 3}}}}
	for _, level := range []struct {
		suffix string
		stride int
	}{{"_8", 8}, {"_16", 16}, {"_32", 32}} {
		cells := size / level.stride * (size / level.stride)
		for _, o := range []struct {
			name  string
			width int
		}{{"cls", 1}, {"obj", 1}, {"bbox", 4}, {"kps", 10}} {
			s.out = append(s.out, infer.Info{Name: o.name + level.suffix, Shape: []int{1, cells, o.width}})
		}
	}
	s.compute = func(in []float32, out [][]float32) {
		named := map[string][]float32{}
		for i, o := range s.out {
			named[o.Name] = out[i]
		}
		compute(in, named)
	}
	return s
}

// fakeLandmarks has 478 points and a presence logit.
func fakeLandmarks(size int, compute func(in []float32, points []float32, presence *float32)) *fakeSession {
	return &fakeSession{
		in:  []infer.Info{{Name: "image", Shape: []int{1, size, size, 3}}},
		out: []infer.Info{{Name: "points", Shape: []int{1, 1, 1, 1434}}, {Name: "presence", Shape: []int{1, 1, 1, 1}}},
		compute: func(in []float32, out [][]float32) {
			compute(in, out[0], &out[1][0])
		},
	}
}

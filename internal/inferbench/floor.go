package inferbench

import (
	"strings"

	"facetrack/infer"
	"facetrack/internal/cuda"
)

// Floor is the least time that networks could take on a device: their multiplications at the device's highest rate, or the bytes that
// have to be read and written at least, whichever takes longer.
type Floor struct {
	MACs    float64 `json:"macs"`  // multiplications with additions
	Bytes   float64 `json:"bytes"` // weights once, inputs and outputs of every item
	Micros  float64 `json:"us"`
	Because string  `json:"because"` // "operations" or "bytes"
}

// peak is what a device can do at most, as its maker states it.
type peak struct {
	name            string  // a part of the device's
	f16, f32, bytes float64 // multiplications with additions a second, dense, in matrix units and outside; bytes a second
}

// peaks are those of the variant with the most.
var peaks = []peak{
	{"H200", 989e12 / 2, 67e12 / 2, 4.8e12},
	{"H100", 989e12 / 2, 67e12 / 2, 3.35e12},
	{"A100", 312e12 / 2, 19.5e12 / 2, 2.0e12},
	{"L40", 362e12 / 2, 90.5e12 / 2, 0.864e12},
	{"L4", 121e12 / 2, 30.3e12 / 2, 0.3e12},
	{"T4", 65e12 / 2, 8.1e12 / 2, 0.32e12},
}

// floor is that of graphs one after the other; nil for a device whose figures are not known.
func floor(d cuda.Device, precision string, batch int, graphs ...*infer.Graph) (*Floor, error) {
	for _, k := range peaks {
		if strings.Contains(d.Name, k.name) {
			return k.floor(precision, batch, graphs)
		}
	}
	return nil, nil
}

func (k peak) floor(precision string, batch int, graphs []*infer.Graph) (*Floor, error) {
	width, rate := 4, k.f32
	if precision == infer.FP16 {
		width, rate = 2, k.f16
	}
	f := &Floor{}
	for _, g := range graphs {
		g = g.Clone()
		if err := infer.Optimize(g); err != nil {
			return nil, err
		}
		f.add(g, batch, width)
	}
	operations, bytes := f.MACs/rate*1e6, f.Bytes/k.bytes*1e6
	f.Micros, f.Because = operations, "operations"
	if bytes > operations {
		f.Micros, f.Because = bytes, "bytes"
	}
	return f, nil
}

// add counts a graph whose numbers have so many bytes.
func (f *Floor) add(g *infer.Graph, batch, width int) {
	for _, n := range g.Nodes {
		if n.Op == infer.Conv2D {
			w := g.Values[n.Inputs[1]].Shape
			f.MACs += float64(batch) * float64(g.Values[n.Outputs[0]].Len()*w[1]*w[2]*w[3])
		}
	}
	for i := range g.Values {
		if g.Values[i].Data != nil {
			f.Bytes += float64(g.Values[i].Len() * width)
		}
	}
	for _, ids := range [][]infer.ValueID{g.Inputs, g.Outputs} {
		for _, id := range ids {
			f.Bytes += float64(batch * g.Values[id].Len() * width)
		}
	}
}

package nn

import (
	"math"
	"testing"

	"facetrack/infer"
	"facetrack/infer/reference"
)

// twin builds a graph of single operators, which package reference computes in float64.
type twin struct {
	*testing.T
	g infer.Graph
}

func newTwin(t *testing.T) *twin { return &twin{T: t, g: infer.Graph{Name: "twin"}} }

func (w *twin) value(data []float32, shape ...int) infer.ValueID {
	w.g.Values = append(w.g.Values, infer.Value{Shape: shape, Data: data})
	return infer.ValueID(len(w.g.Values) - 1)
}

func (w *twin) image(m Image) infer.ValueID { return w.value(nil, 1, m.H, m.W, m.C) }

func (w *twin) input(m Image) infer.ValueID {
	id := w.image(m)
	w.g.Inputs = append(w.g.Inputs, id)
	return id
}

func (w *twin) add(n infer.Node, out Image) infer.ValueID {
	id := w.image(out)
	n.Outputs = []infer.ValueID{id}
	w.g.Nodes = append(w.g.Nodes, n)
	return id
}

func (w *twin) window(op infer.Op, v window, out Image, groups int, inputs ...infer.ValueID) infer.ValueID {
	return w.add(infer.Node{Op: op, Inputs: inputs, Kernel: v.kernel, Stride: v.stride, Pads: v.pads, Dilation: [2]int{1, 1}, Groups: groups}, out)
}

func (w *twin) depthwise(x infer.ValueID, d Depthwise, out Image, weights, bias, slope []float32) infer.ValueID {
	inputs := []infer.ValueID{x, w.value(weights, d.In.C, d.Kernel[0], d.Kernel[1], 1)}
	if bias != nil {
		inputs = append(inputs, w.value(bias, d.In.C))
	}
	return w.activated(w.window(infer.Conv2D, d.window(), out, d.In.C, inputs...), out, d.Act, slope)
}

// activated is x with an activation, as an operator of its own.
func (w *twin) activated(x infer.ValueID, m Image, act Activation, slope []float32) infer.ValueID {
	switch act {
	case Relu:
		return w.add(infer.Node{Op: infer.Relu, Inputs: []infer.ValueID{x}}, m)
	case Relu6: // fused behind an addition of nothing
		return w.add(infer.Node{Op: infer.Add, Inputs: []infer.ValueID{x, w.value(make([]float32, 1), 1)}, Activation: infer.Relu6Activation}, m)
	case PRelu:
		return w.add(infer.Node{Op: infer.PRelu, Inputs: []infer.ValueID{x, w.value(slope, m.C)}}, m)
	case Logistic:
		return w.add(infer.Node{Op: infer.Logistic, Inputs: []infer.ValueID{x}}, m)
	}
	return x
}

// conv gives the result and what the front hands on.
func (w *twin) conv(x, residual infer.ValueID, c Conv, weights ConvWeights) (y, front infer.ValueID) {
	front = x
	if c.Front != nil {
		front = w.depthwise(x, *c.Front, Image{c.Out.H, c.Out.W, c.In.C}, weights.FrontW, weights.FrontBias, weights.FrontSlope)
	}
	inputs := []infer.ValueID{front, w.value(weights.W, c.Out.C, c.Kernel[0], c.Kernel[1], c.In.C)}
	if weights.Bias != nil {
		inputs = append(inputs, w.value(weights.Bias, c.Out.C))
	}
	y = w.window(infer.Conv2D, window{c.In, c.Kernel, c.Stride, c.Pads}, c.Out, 1, inputs...)
	if c.Residual != NoResidual {
		same := Image{c.Out.H, c.Out.W, c.ResidualC}
		if c.Residual == PooledResidual {
			pool := window{kernel: [2]int{2, 2}, stride: [2]int{2, 2}}
			residual = w.window(infer.MaxPool2D, pool, same, 1, residual)
		}
		if more := c.Out.C - c.ResidualC; more > 0 {
			residual = w.add(infer.Node{Op: infer.Pad, Inputs: []infer.ValueID{residual}, Before: make([]int, 4), After: []int{0, 0, 0, more}}, c.Out)
		}
		y = w.add(infer.Node{Op: infer.Add, Inputs: []infer.ValueID{y, residual}}, c.Out)
	}
	return w.activated(y, c.Out, c.Act, weights.Slope), front
}

// run computes the values of a batch.
func (w *twin) run(batch int, in [][]float32, wanted ...infer.ValueID) [][]float32 {
	w.Helper()
	w.g.Outputs = wanted
	s, err := reference.Open(&w.g, infer.Options{MaxBatch: batch})
	if err != nil {
		w.Fatal(err)
	}
	var from, to []infer.Buffer
	for _, x := range in {
		from = append(from, infer.Buffer{Host: x})
	}
	out := make([][]float32, len(wanted))
	for i, info := range w.g.OutputInfo() {
		out[i] = make([]float32, batch*info.Len())
		to = append(to, infer.Buffer{Host: out[i]})
	}
	if err := s.Run(batch, from, to); err != nil {
		w.Fatal(err)
	}
	return out
}

const halfStep = 1.0 / (1 << 11) // how far a half is from what it stands for, relative to it
const halfFloor = 1.0 / (1 << 24)

// differ counts the values that are further from the twin's than their bounds, and shows the worst.
func differ(t *testing.T, got, want []float32, bound func(i int) float64) {
	t.Helper()
	worst, at, bad := 0.0, 0, 0
	for i, v := range got {
		d := math.Abs(float64(v)-float64(want[i])) / bound(i)
		if !(d <= 1) {
			bad++
		}
		if !(d <= worst) {
			worst, at = d, i
		}
	}
	if bad > 0 || len(got) != len(want) {
		t.Errorf("%d of %d values (want %d) differ; number %d is %v, want %v, %.3g of the bound", bad, len(got), len(want), at, got[at], want[at], worst)
	}
}

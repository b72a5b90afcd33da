package nn

import (
	"math"
	"math/rand/v2"
)

// randomMixer has random weights of the sizes of m.
func randomMixer(rnd *rand.Rand, m Mixer) MixerWeights {
	values := func(n int, scale float64) []float32 { return random(rnd, F32, n, scale) }
	dense := func(outputs, inputs int) MixerDense {
		return MixerDense{values(outputs*inputs, 1/math.Sqrt(float64(inputs))), values(outputs, 0.2)}
	}
	block := func(n, hidden int) MixerBlock {
		return MixerBlock{Gamma: values(m.Channels, 1), Epsilon: 1e-3, In: dense(hidden, n), Out: dense(n, hidden)}
	}
	w := MixerWeights{Scale: 1.5, Token: values(m.Channels, 1), Expand: dense(m.Tokens-1, m.Points), Embed: dense(m.Channels, 2), Head: dense(m.Outputs, m.Channels)}
	for range m.Layers {
		w.Layers = append(w.Layers, MixerLayer{block(m.Tokens, m.TokenHidden), block(m.Channels, m.ChannelHidden)})
	}
	return w
}

func (d MixerDense) apply(x []float64) []float64 {
	y := make([]float64, len(d.Bias))
	for o := range y {
		y[o] = float64(d.Bias[o])
		for i, v := range x {
			y[o] += v * float64(d.W[o*len(x)+i])
		}
	}
	return y
}

func (b MixerBlock) apply(x []float64) []float64 {
	hidden := b.In.apply(x)
	for i, v := range hidden {
		hidden[i] = max(v, 0)
	}
	return b.Out.apply(hidden)
}

func (b MixerBlock) normalise(x []float64) []float64 {
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	n := make([]float64, len(x))
	for i, v := range x {
		n[i] = (v - mean) * float64(b.Gamma[i]) / math.Sqrt(variance+float64(b.Epsilon))
	}
	return n
}

// turn swaps rows and columns.
func turn(x [][]float64) [][]float64 {
	y := make([][]float64, len(x[0]))
	for i := range y {
		for _, row := range x {
			y[i] = append(y[i], row[i])
		}
	}
	return y
}

// add gives x + the block's result, across rows or else within them.
func (b MixerBlock) add(x [][]float64, across bool) [][]float64 {
	n := make([][]float64, len(x))
	for i, row := range x {
		n[i] = b.normalise(row)
	}
	if across {
		n = turn(n)
	}
	for i, row := range n {
		n[i] = b.apply(row)
	}
	if across {
		n = turn(n)
	}
	for i, row := range n {
		for k, v := range x[i] {
			row[k] += v
		}
	}
	return n
}

// scores computes a mixer in float64.
func (w MixerWeights) scores(points []float32) []float64 {
	axes, distance := make([][]float64, 2), 0.0
	for i, v := range points {
		axes[i%2] = append(axes[i%2], float64(v))
	}
	n := float64(len(axes[0]))
	for _, axis := range axes {
		mean := 0.0
		for _, v := range axis {
			mean += v / n
		}
		for i := range axis {
			axis[i] -= mean
		}
	}
	for i, v := range axes[0] {
		distance += math.Hypot(v, axes[1][i]) / n
	}
	for k, axis := range axes {
		for i := range axis {
			axis[i] *= float64(w.Scale) / distance
		}
		axes[k] = w.Expand.apply(axis)
	}
	tokens := [][]float64{nil}
	for _, v := range w.Token {
		tokens[0] = append(tokens[0], float64(v))
	}
	for _, pair := range turn(axes) {
		tokens = append(tokens, w.Embed.apply(pair))
	}
	for _, l := range w.Layers {
		tokens = l.Channels.add(l.Tokens.add(tokens, true), false)
	}
	y := w.Head.apply(tokens[0])
	for i, v := range y {
		y[i] = 1 / (1 + math.Exp(-v))
	}
	return y
}

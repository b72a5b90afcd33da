package nn

import (
	"slices"

	"facetrack/internal/half"
)

// PackMixer makes the constants of a launch of Mixer, in the order in which the kernel reads them. Every part begins at a multiple of 16 bytes.
func PackMixer(p Precision, w MixerWeights) ([]byte, error) {
	m, err := MixerOf(w)
	if err != nil {
		return nil, err
	}
	out := appendPart(nil, []float32{w.Scale}, 1)
	out = appendPart(out, w.Expand.W, len(w.Expand.W))
	out = appendPart(out, w.Expand.Bias, len(w.Expand.Bias))
	for _, part := range [][]float32{turned(w.Embed, 0), turned(w.Embed, 1), w.Embed.Bias, w.Token} {
		out = appendPart(out, part, mixerChannels)
	}
	for _, l := range w.Layers {
		out = l.Tokens.pack(out, p, m.TokenHidden, mixerTokens)
		out = l.Channels.pack(out, p, m.ChannelHidden, mixerChannels)
	}
	for c := range m.Channels {
		out = appendPadded(out, turned(w.Head, c), m.Outputs)
	}
	return appendPart(aligned16(out), w.Head.Bias, m.Outputs), nil
}

// pack appends a block between most values, of which some may be absent.
func (b MixerBlock) pack(out []byte, p Precision, hidden, most int) []byte {
	steps := mixerSteps(hidden)
	out = appendPart(out, b.Gamma, mixerChannels)
	out = appendPart(out, []float32{b.Epsilon}, 1)
	out = appendPart(out, b.In.Bias, 32*steps)
	if p == F16 {
		out = appendPart(out, b.Out.Bias, most)
		for step := range steps {
			for k := range most / 8 {
				out = b.In.fragments(out, func(j int) (int, int) { return 32*step + 8*j, 8 * k })
			}
		}
		for step := range steps {
			for m := range most / 8 {
				out = b.Out.fragments(out, func(j int) (int, int) { return 8 * m, 32*step + 8*j })
			}
		}
		return out
	}
	out = appendPart(out, b.Out.Bias, mixerColumns(most))
	for k := range most {
		out = appendPadded(out, turned(b.In, k), 32*steps)
	}
	for h := range 32 * steps {
		out = appendPadded(out, turned(b.Out, h), mixerColumns(most))
	}
	return out
}

// mixerColumns is how many results the float32 kernel's threads share out.
func mixerColumns(most int) int { return (most + 15) / 16 * 16 }

// layout tells where in what PackMixer makes each block of layers begins, and where the head does.
func (m Mixer) layout(p Precision) (blocks []uint64, head uint64) {
	floats := func(n int) uint64 { return uint64(4*n+15) / 16 * 16 }
	head = floats(1) + floats((m.Tokens-1)*m.Points) + floats(m.Tokens-1) + 4*floats(mixerChannels)
	block := func(hidden, most int) {
		blocks = append(blocks, head)
		width := 32 * mixerSteps(hidden)
		head += floats(mixerChannels) + floats(1) + floats(width)
		if p == F16 {
			head += floats(most) + floats(width*most)
		} else {
			head += floats(mixerColumns(most)) + floats(width*most) + floats(width*mixerColumns(most))
		}
	}
	for range m.Layers {
		block(m.TokenHidden, mixerTokens)
		block(m.ChannelHidden, mixerChannels)
	}
	return blocks, head
}

// fragments appends 8 × 8 weights for each of four multiplications, as a warp's lanes take them: lane l has the inputs l%4*2, +1 of output l/4,
// behind the first ones that first gives for number j.
func (d MixerDense) fragments(out []byte, first func(j int) (output, input int)) []byte {
	for lane := range 32 {
		for j := range 4 {
			o, i := first(j)
			o, i = o+lane/4, i+lane%4*2
			out = half.Append(out, d.at(o, i), d.at(o, i+1))
		}
	}
	return out
}

func (d MixerDense) inputs() int { return len(d.W) / len(d.Bias) }

// at is a weight, 0 for outputs and inputs that are absent.
func (d MixerDense) at(output, input int) float32 {
	if output >= len(d.Bias) || input >= d.inputs() {
		return 0
	}
	return d.W[output*d.inputs()+input]
}

// turned is the weights of one input.
func turned(d MixerDense, input int) []float32 {
	out := make([]float32, len(d.Bias))
	for o := range out {
		out[o] = d.at(o, input)
	}
	return out
}

func appendPart(out []byte, values []float32, n int) []byte {
	return aligned16(appendPadded(out, values, n))
}

func aligned16(out []byte) []byte { return append(out, slices.Repeat([]byte{0}, -len(out)&15)...) }

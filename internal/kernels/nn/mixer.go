package nn

import (
	"math"

	"facetrack/internal/cuda"
)

// Mixer is the sizes of a network that mixes tokens and channels by turns: from points, two coordinates each, to scores. Points are centred,
// divided by their mean distance from the centre and scaled, then expanded to tokens and embedded in channels, behind one token that is
// constant. Each layer adds to the tokens what two dense layers with a Relu between make of them, normalised over the channels: first
// across tokens, then across channels. Scores are the logistic of the first token's head.
type Mixer struct {
	Points, Tokens, Channels   int // Tokens counts the constant one
	TokenHidden, ChannelHidden int // between the two dense layers
	Layers, Outputs            int
}

// MixerWeights are the constants of a mixer.
type MixerWeights struct {
	Scale  float32    // of normalised points
	Token  []float32  // the constant one
	Expand MixerDense // points to tokens
	Embed  MixerDense // coordinates to channels
	Layers []MixerLayer
	Head   MixerDense // channels to outputs
}

// MixerLayer is two blocks, the first across tokens, the second across channels.
type MixerLayer struct{ Tokens, Channels MixerBlock }

// MixerBlock is x + Out(relu(In(n))), n = (x - mean) × Gamma / sqrt(variance + Epsilon), mean and variance over the channels.
type MixerBlock struct {
	Gamma   []float32
	Epsilon float32
	In, Out MixerDense
}

// MixerDense is a layer of weights W [outputs][inputs].
type MixerDense struct{ W, Bias []float32 }

// What the kernels' shared memory and registers have room for.
const (
	mixerPoints   = 256
	mixerTokens   = 104
	mixerChannels = 64
	mixerHidden   = 1 << 14
	mixerOutputs  = 1 << 14
	mixerLayers   = 1 << 10
)

// MixerOf gives the sizes of a mixer, or ErrShape when its weights do not fit together or no kernel takes them.
func MixerOf(w MixerWeights) (Mixer, error) {
	m := Mixer{Tokens: len(w.Expand.Bias) + 1, Channels: len(w.Embed.Bias), Layers: len(w.Layers), Outputs: len(w.Head.Bias)}
	m.Points = len(w.Expand.W) / max(m.Tokens-1, 1)
	if m.Layers > 0 {
		m.TokenHidden, m.ChannelHidden = len(w.Layers[0].Tokens.In.Bias), len(w.Layers[0].Channels.In.Bias)
	}
	if err := m.check(); err != nil {
		return m, err
	}
	fits := len(w.Token) == m.Channels && w.Expand.is(m.Tokens-1, m.Points) && w.Embed.is(m.Channels, 2) && w.Head.is(m.Outputs, m.Channels)
	for _, l := range w.Layers {
		fits = fits && l.Tokens.is(m.Tokens, m.TokenHidden, m.Channels) && l.Channels.is(m.Channels, m.ChannelHidden, m.Channels)
	}
	if !fits {
		return m, shapeError("weights that do not fit together as a mixer of %+v", m)
	}
	return m, nil
}

func (m Mixer) check() error {
	if m.Points < 1 || m.Points > mixerPoints || m.Tokens < 2 || m.Tokens > mixerTokens || m.Channels < 1 || m.Channels > mixerChannels ||
		m.TokenHidden < 1 || m.TokenHidden > mixerHidden || m.ChannelHidden < 1 || m.ChannelHidden > mixerHidden ||
		m.Layers < 1 || m.Layers > mixerLayers || m.Outputs < 1 || m.Outputs > mixerOutputs {
		return shapeError("a mixer of %+v", m)
	}
	return nil
}

func (b MixerBlock) is(n, hidden, channels int) bool {
	return len(b.Gamma) == channels && b.In.is(hidden, n) && b.Out.is(n, hidden)
}

func (d MixerDense) is(outputs, inputs int) bool {
	return len(d.Bias) == outputs && len(d.W) == outputs*inputs
}

// MixerScratch is how many float32 values of memory the launches of Mixer share for each item.
const MixerScratch = 2*mixerItem + mixerStats

const (
	mixerItem  = mixerTokens * mixerChannels
	mixerStats = 2 * mixerTokens
)

// MixerAt are addresses: the points and the scores of item 0, both float32, one item after the other, what PackMixer made, and memory for
// MixerScratch values of each item. The last two are multiples of 16.
type MixerAt struct{ X, Y, Constants, Scratch uint64 }

// Mixer queues a whole mixer: a launch for the embedding and one for every block of layers.
func (s *Set) Mixer(stream *cuda.Stream, p Precision, m Mixer, at MixerAt, batch int) error {
	if err := m.check(); err != nil {
		return err
	}
	if batch < 1 || batch > math.MaxUint16 || batch > mostIndex/max(2*m.Points, m.Outputs) {
		return shapeError("a mixer for a batch of %d", batch)
	}
	if at.X%8 != 0 || at.Y%4 != 0 || at.Constants%16 != 0 || at.Scratch%16 != 0 {
		return ErrAlign
	}
	return m.launches(func(kernel string, grid cuda.Dim, threads int, args ...any) error {
		return s.launch(stream, kernel, grid, cuda.Dim{X: threads}, 0, args...)
	}, p, at, batch)
}

// launches gives all launches in order: their kernels, grids, threads of a block and arguments.
func (m Mixer) launches(launch func(string, cuda.Dim, int, ...any) error, p Precision, at MixerAt, batch int) error {
	blocks, head := m.layout(p)
	next := func(i int) uint64 { // the block of layers i, or the head
		if i < len(blocks) {
			return at.Constants + blocks[i]
		}
		return at.Constants + head
	}
	a := at.Scratch
	b := a + uint64(batch)*mixerItem*4
	stats := b + uint64(batch)*mixerItem*4
	tokens, channels := uint32(m.Tokens), uint32(m.Channels)
	err := launch("mixer_embed", cuda.Dim{X: (m.Tokens + 7) / 8, Y: batch}, 256, at.X, a, stats, at.Constants, next(0), uint32(m.Points), tokens, channels)
	for layer := 0; layer < m.Layers && err == nil; layer++ {
		wanted, rows, results, to := tokens, (m.Tokens+mixerRows-1)/mixerRows, mixerTokens, a
		if layer+1 == m.Layers { // of which only the first token counts
			wanted, rows, results, to = 1, 1, 8, 0
		}
		err = launch("mixer_tokens_"+p.String(), cuda.Dim{X: (m.Channels + mixerRows - 1) / mixerRows, Y: batch}, 384,
			a, stats, b, next(2*layer), tokens, channels, uint32(mixerSteps(m.TokenHidden)), uint32(results))
		if err == nil {
			err = launch("mixer_channels_"+p.String(), cuda.Dim{X: rows, Y: batch}, 256, b, to, stats, at.Y, next(2*layer+1), next(2*layer+2),
				wanted, channels, uint32(mixerSteps(m.ChannelHidden)), uint32(m.Outputs))
		}
	}
	return err
}

// mixerRows is how many rows a thread block takes.
const mixerRows = 16

// mixerSteps is how many times a kernel takes 32 hidden values.
func mixerSteps(hidden int) int { return (hidden + 31) / 32 }

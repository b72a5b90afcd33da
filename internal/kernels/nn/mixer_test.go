package nn

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// mix runs a mixer on a device for a batch of points.
func (r *rig) mix(p Precision, w MixerWeights, points []float32) []float32 {
	r.Helper()
	r.taken = 0
	m, err := MixerOf(w)
	r.must(err)
	constants, err := PackMixer(p, w)
	r.must(err)
	batch := len(points) / (2 * m.Points)
	x, at := r.take(4*len(points), 8), r.take(len(constants), 0)
	y := r.take(4*batch*m.Outputs+4, 4)
	scratch := r.take(4*batch*MixerScratch+4, 0)
	r.upload(x, encode(F32, points))
	r.upload(at, constants)
	r.upload(y, encode(F32, append(make([]float32, batch*m.Outputs), 7)))
	r.upload(scratch, bytes.Repeat([]byte{0xff}, 4*batch*MixerScratch+4)) // nothing that is not written before is ever used: these are no numbers
	r.must(r.set.Mixer(r.stream, p, m, MixerAt{x, y, at, scratch}, batch))
	if behind := r.download(scratch+uint64(4*batch*MixerScratch), 4); !bytes.Equal(behind, []byte{0xff, 0xff, 0xff, 0xff}) {
		r.Errorf("%v: what lies behind the memory that launches share became %v", m, behind)
	}
	scores := decode(F32, r.download(y, 4*batch*m.Outputs+4))
	if behind := scores[batch*m.Outputs]; behind != 7 {
		r.Errorf("%v: what lies behind the scores became %v", m, behind)
	}
	return scores[:batch*m.Outputs]
}

// The launches find every part where it was packed.
func TestMixerLayout(t *testing.T) {
	rnd := rand.New(rand.NewPCG(17, 18))
	for range 20 {
		m := Mixer{2 + rnd.IntN(mixerPoints-2), 2 + rnd.IntN(mixerTokens-2), 1 + rnd.IntN(mixerChannels), 1 + rnd.IntN(200), 1 + rnd.IntN(200), 1 + rnd.IntN(3), 1 + rnd.IntN(60)}
		w := randomMixer(rnd, m)
		for p := range mixerBound {
			packed, err := PackMixer(Precision(p), w)
			if err != nil {
				t.Fatal(err)
			}
			blocks, head := m.layout(Precision(p))
			for i, at := range blocks {
				b := []MixerBlock{w.Layers[i/2].Tokens, w.Layers[i/2].Channels}[i%2]
				if got := decode(F32, packed[at:][:4*m.Channels]); !slices.Equal(got, b.Gamma) {
					t.Fatalf("%+v: block %d is not at %d", m, i, at)
				}
			}
			if got := decode(F32, packed[len(packed)-4*((m.Outputs+3)/4*4):][:4*m.Outputs]); !slices.Equal(got, w.Head.Bias) {
				t.Fatalf("%+v: the head ends elsewhere", m)
			}
			if size := (4*m.Channels*m.Outputs+15)/16*16 + (4*m.Outputs+15)/16*16; len(packed) != int(head)+size {
				t.Fatalf("%+v: the head is not at %d", m, head)
			}
		}
	}
}

// mixerBound is how far a score may be from the twin's.
var mixerBound = [...]float64{F32: 3e-6, F16: 2e-3}

// farthest is the greatest difference.
func farthest(got []float32, want []float64) float64 {
	worst := 0.0
	for i, v := range got {
		if d := math.Abs(float64(v) - want[i]); !(d <= worst) {
			worst = d
		}
	}
	return worst
}

func TestMixer(t *testing.T) {
	r, rnd := newRig(t), rand.New(rand.NewPCG(7, 8))
	sizes := []Mixer{
		{Points: 1 + 145, Tokens: 97, Channels: 64, TokenHidden: 384, ChannelHidden: 256, Layers: 1, Outputs: 52},
		{Points: mixerPoints, Tokens: mixerTokens, Channels: mixerChannels, TokenHidden: 33, ChannelHidden: 31, Layers: 2, Outputs: 300},
		{Points: 2, Tokens: 2, Channels: 2, TokenHidden: 1, ChannelHidden: 1, Layers: 1, Outputs: 1},
	}
	for range 5 {
		sizes = append(sizes, Mixer{2 + rnd.IntN(mixerPoints-2), 2 + rnd.IntN(mixerTokens-2), 2 + rnd.IntN(mixerChannels-2),
			1 + rnd.IntN(200), 1 + rnd.IntN(200), 1 + rnd.IntN(3), 1 + rnd.IntN(60)})
	}
	for i, m := range sizes {
		w, points := randomMixer(rnd, m), random(rnd, F32, (1+i%2*2)*2*m.Points, 100)
		for k := range points {
			points[k] += 300
		}
		var want []float64
		for first := 0; first < len(points); first += 2 * m.Points {
			want = append(want, w.scores(points[first:][:2*m.Points])...)
		}
		for p := range mixerBound {
			if worst := farthest(r.mix(Precision(p), w, points), want); !(worst <= mixerBound[p]) {
				t.Errorf("%v %+v: a score is %.2g off", Precision(p), m, worst)
			} else {
				t.Logf("%v %+v: at most %.2g off", Precision(p), m, worst)
			}
		}
	}
}

func TestMixersThatNoKernelTakes(t *testing.T) {
	r, rnd := newRig(t), rand.New(rand.NewPCG(9, 10))
	good := Mixer{Points: 5, Tokens: 4, Channels: 3, TokenHidden: 2, ChannelHidden: 2, Layers: 2, Outputs: 2}
	for name, change := range map[string]func(m *Mixer){
		"too many points":   func(m *Mixer) { m.Points = mixerPoints + 1 },
		"too many tokens":   func(m *Mixer) { m.Tokens = mixerTokens + 1 },
		"too many channels": func(m *Mixer) { m.Channels = mixerChannels + 1 },
		"one token":         func(m *Mixer) { m.Tokens = 1 },
		"no layer":          func(m *Mixer) { m.Layers = 0 },
	} {
		m := good
		change(&m)
		if _, err := PackMixer(F16, randomMixer(rnd, m)); !errors.Is(err, ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
		if err := r.set.Mixer(r.stream, F16, m, MixerAt{}, 1); !errors.Is(err, ErrShape) {
			t.Errorf("launch with %s: %v", name, err)
		}
	}
	for name, change := range map[string]func(w *MixerWeights){
		"another token":           func(w *MixerWeights) { w.Token = w.Token[1:] },
		"weights without a bias":  func(w *MixerWeights) { w.Head.Bias = nil },
		"another number of them":  func(w *MixerWeights) { w.Embed.W = w.Embed.W[1:] },
		"half a point":            func(w *MixerWeights) { w.Expand.W = w.Expand.W[1:] },
		"another gamma":           func(w *MixerWeights) { w.Layers[1].Channels.Gamma = nil },
		"layers that differ":      func(w *MixerWeights) { w.Layers[1].Tokens.In = w.Layers[0].Channels.In },
		"a block with one result": func(w *MixerWeights) { w.Layers[0].Tokens.Out.Bias = w.Token[:1] },
	} {
		w := randomMixer(rnd, good)
		change(&w)
		if _, err := MixerOf(w); !errors.Is(err, ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, batch := range []int{0, -1, 1 << 40} {
		if err := r.set.Mixer(r.stream, F32, good, MixerAt{}, batch); !errors.Is(err, ErrShape) {
			t.Errorf("a batch of %d: %v", batch, err)
		}
	}
	for i, at := range []MixerAt{{X: 4}, {Y: 2}, {Constants: 8}, {Scratch: 8}} {
		if err := r.set.Mixer(r.stream, F32, good, at, 1); !errors.Is(err, ErrAlign) {
			t.Errorf("address %d: %v", i, err)
		}
	}
}

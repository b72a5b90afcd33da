package nn

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"facetrack/infer"
	"facetrack/infer/task"
	"facetrack/infer/tflite"
	"facetrack/internal/testutil"
)

// blendshapes is the public network, as it is in its file.
func blendshapes(t *testing.T) *infer.Graph {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testutil.Assets(t), "models", "face_landmarker_v2_with_blendshapes.task"))
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := task.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	member, _ := bundle.Member("face_blendshapes.tflite")
	g, err := tflite.Load(member)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// constantsOf are what the nodes of a graph read of constants, in their order.
func constantsOf(g *infer.Graph) (out [][]float32) {
	for _, n := range g.Nodes {
		for _, id := range n.Inputs {
			if data := g.Values[id].Data; data != nil {
				out = append(out, data)
			}
		}
	}
	return out
}

// mixerOf takes a mixer's weights from the constants of the public network, whose order is known.
func mixerOf(t *testing.T, constants [][]float32) MixerWeights {
	t.Helper()
	if len(constants) != 1+4+1+4*2*6+2 {
		t.Fatalf("%d constants", len(constants))
	}
	next := func() []float32 {
		data := constants[0]
		constants = constants[1:]
		return data
	}
	dense := func() MixerDense { return MixerDense{W: next(), Bias: next()} }
	block := func() MixerBlock { return MixerBlock{Epsilon: next()[0], Gamma: next(), In: dense(), Out: dense()} }
	w := MixerWeights{Scale: next()[0], Expand: dense(), Embed: dense(), Token: next()}
	for range 4 {
		w.Layers = append(w.Layers, MixerLayer{Tokens: block(), Channels: block()})
	}
	w.Head = dense()
	return w
}

// The scores of random points against package reference.
func TestMixerOfBlendshapes(t *testing.T) {
	g := blendshapes(t)
	w, rnd := mixerOf(t, constantsOf(g)), rand.New(rand.NewPCG(11, 12))
	const batch, length = 3, 2 * 146
	points := random(rnd, F32, batch*length, 60)
	for i := range points {
		points[i] += []float32{400, 500}[i%2]
	}
	twin := &twin{T: t, g: *g}
	var want []float64
	for _, v := range twin.run(batch, [][]float32{points}, g.Outputs...)[0] {
		want = append(want, float64(v))
	}
	r := newRig(t)
	for p := range mixerBound {
		worst := farthest(r.mix(Precision(p), w, points), want)
		t.Logf("%v: at most %.2g off", Precision(p), worst)
		if !(worst <= 3*mixerBound[p]) {
			t.Errorf("%v: a score is %.2g off", Precision(p), worst)
		}
	}
}

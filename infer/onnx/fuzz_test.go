package onnx

import (
	"flag"
	"runtime/metrics"
	"testing"

	"facetrack/infer"
	"facetrack/internal/modelbuild"
)

var update = flag.Bool("update", false, "write the fuzz corpus")

func TestSeedCorpus(t *testing.T) {
	modelbuild.CheckCorpus(t, "FuzzONNX", *update, modelbuild.Damaged("every", modelbuild.EveryONNX().ONNX()))
}

// FuzzONNX: a file is refused with an error or gives a graph that is valid and can be optimised; memory stays in
// proportion to the file.
func FuzzONNX(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		before := allocated()
		g, err := Load(data)
		if err == nil {
			checkGraph(t, g)
		} else if g != nil {
			t.Errorf("an error and a graph: %v", err)
		}
		if used, limit := allocated()-before, uint64(16<<20+512*len(data)); used > limit {
			t.Errorf("a file of %d bytes made the loader allocate %d bytes; limit %d", len(data), used, limit)
		}
	})
}

func checkGraph(t *testing.T, g *infer.Graph) {
	t.Helper()
	if err := g.Validate(); err != nil {
		t.Fatalf("an invalid graph was returned: %v", err)
	}
	if err := infer.Optimize(g.Clone()); err != nil {
		t.Errorf("a valid graph cannot be optimised: %v", err)
	}
}

// allocated is how many bytes have been allocated since the start, freed ones included.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

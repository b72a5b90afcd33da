package task

import (
	"flag"
	"runtime/metrics"
	"slices"
	"testing"

	"facetrack/internal/modelbuild"
)

var update = flag.Bool("update", false, "write the fuzz corpus")

func TestSeedCorpus(t *testing.T) {
	modelbuild.CheckCorpus(t, "FuzzTask", *update, modelbuild.Damaged("every", modelbuild.EveryTask()))
}

// FuzzTask: a bundle is refused with an error, or every member can be had and is no larger than the bundle; memory
// stays in proportion to the file.
func FuzzTask(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		before := allocated()
		b, err := Open(data)
		if err == nil {
			checkMembers(t, b, len(data))
		}
		if used, limit := allocated()-before, uint64(4<<20+64*len(data)); used > limit {
			t.Errorf("a file of %d bytes made Open allocate %d bytes; limit %d", len(data), used, limit)
		}
	})
}

func checkMembers(t *testing.T, b *Bundle, size int) {
	t.Helper()
	names := b.Names()
	for i, name := range names {
		content, ok := b.Member(name)
		if !ok || len(content) > size || slices.Contains(names[:i], name) {
			t.Errorf("member %q: found %t, %d bytes of a bundle of %d", name, ok, len(content), size)
		}
	}
}

// allocated is how many bytes have been allocated since the start, freed ones included.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

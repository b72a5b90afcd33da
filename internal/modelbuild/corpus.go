package modelbuild

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Damaged lists a file itself, cut at several lengths, and with single bits flipped.
func Damaged(name string, data []byte) []Member {
	out := []Member{{name, data}}
	for _, percent := range []int{1, 25, 50, 75, 99} {
		out = append(out, Member{fmt.Sprintf("%s-cut-%02d", name, percent), data[:len(data)*percent/100]})
	}
	for i := range 8 {
		at := (2*i + 1) * len(data) / 16
		flipped := bytes.Clone(data)
		flipped[at] ^= 1 << i
		out = append(out, Member{fmt.Sprintf("%s-flip-%d", name, i), flipped})
	}
	return out
}

// CheckCorpus compares the committed seeds of a fuzz target with testdata/fuzz/<target> of the package under
// test; with update it writes them. Files that it did not make (found by fuzzing) stay.
func CheckCorpus(t *testing.T, target string, update bool, seeds []Member) {
	t.Helper()
	dir := filepath.Join("testdata", "fuzz", target)
	if update {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range seeds {
		path := filepath.Join(dir, s.Name)
		entry := fmt.Appendf(nil, "go test fuzz v1\n[]byte(%q)\n", s.Data)
		if update {
			if err := os.WriteFile(path, entry, 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have, err := os.ReadFile(path) // #nosec G304 -- a fixed folder of the repository
		if err != nil || !bytes.Equal(have, entry) {
			t.Errorf("seed %s is missing or stale (%v); run: go test -run Corpus -update", path, err)
		}
	}
}

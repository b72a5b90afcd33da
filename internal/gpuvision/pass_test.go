package gpuvision

import "testing"

func TestSizesOfGraphs(t *testing.T) {
	p := &pass{most: 20}
	for n, want := range map[int]int{1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 6, 7: 8, 9: 12, 12: 12, 13: 16, 17: 20, 20: 20} {
		if got := p.rounded(n); got != want {
			t.Errorf("%d items are a run of %d, want %d", n, got, want)
		}
	}
	if one := (&pass{most: 1}).rounded(1); one != 1 {
		t.Errorf("one item is a run of %d", one)
	}
}

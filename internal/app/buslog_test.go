package app

import (
	"testing"
	"time"
)

// Who connects again and again fills no log, and what was left out is told.
func TestAllowance(t *testing.T) {
	var a allowance
	now := time.Unix(1000, 0)
	for i := range linesAtOnce {
		if may, left := a.take(now); !may || left != 0 {
			t.Fatalf("line %d: %v, %d left out", i, may, left)
		}
	}
	for range 7 {
		if may, _ := a.take(now.Add(newLines - 1)); may {
			t.Fatal("a line too many")
		}
	}
	if may, left := a.take(now.Add(newLines)); !may || left != 7 {
		t.Errorf("a second later: %v, %d left out, want 7", may, left)
	}
	if may, left := a.take(now.Add(newLines)); !may || left != 0 {
		t.Errorf("and after it: %v, %d left out", may, left)
	}
}

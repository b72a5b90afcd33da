package main

import (
	"reflect"
	"testing"
	"time"
)

func TestPlanIsTheSeeds(t *testing.T) {
	a, b := plan(7, 10*time.Minute), plan(7, 10*time.Minute)
	if !reflect.DeepEqual(a, b) {
		t.Error("two plans of one seed differ")
	}
	if reflect.DeepEqual(a, plan(8, 10*time.Minute)) {
		t.Error("two seeds have one plan")
	}
	if short := plan(7, 5*time.Minute); !reflect.DeepEqual(short, a[:len(short)]) {
		t.Error("a shorter run begins in another way")
	}
}

func TestPlanHoldsEveryKind(t *testing.T) {
	const length = 3 * time.Hour
	steps := plan(1, length)
	kinds, targets := map[Kind]int{}, map[string]int{}
	end := time.Duration(0)
	for _, s := range steps {
		kinds[s.Kind]++
		for _, name := range s.Targets {
			targets[string(s.Kind)+" "+name]++
		}
		if s.At < end {
			t.Errorf("a step at %v begins before the one before it ends", s.At)
		}
		if end = s.At + s.For; end > length {
			t.Errorf("a step ends at %v", end)
		}
	}
	for _, s := range shares {
		if kinds[s.kind] == 0 {
			t.Errorf("no %s in %d steps", s.kind, len(steps))
		}
	}
	if len(targets) != 28 { // five stages to kill, to kill twice, to kill without a server and to end, and those, the parent and the witness to stop, and that to kill
		t.Errorf("targets %v", targets)
	}
}

package stage

import "testing"

func TestVigilCountsLooksAtTheSameWork(t *testing.T) {
	var v Vigil
	if n := v.Look(); n != 0 {
		t.Errorf("nothing to do: %d looks", n)
	}
	long := v.Begin()
	for want := 1; want <= 3; want++ {
		short := v.Begin()
		if n := v.Look(); n != want {
			t.Errorf("%d looks, want %d", n, want)
		}
		short()
	}
	long()
	short := v.Begin()
	if n := v.Look(); n != 1 {
		t.Errorf("%d looks at work that has just begun", n)
	}
	short()
	short()
	if n := v.Look(); n != 0 {
		t.Errorf("everything has ended: %d looks", n)
	}
	(*Vigil)(nil).Begin()()
}

package replay

import (
	"reflect"
	"testing"

	"facetrack/ipc"
)

// Every number up to the last is in the account once: read, dropped then, or missing.
func TestAccount(t *testing.T) {
	c := newCamera()
	for _, seq := range []uint64{10, 11, 14, 13, 20} { // 13 overtaken by 14
		if !c.read(seq) {
			t.Errorf("%d was not read before", seq)
		}
	}
	for _, seq := range []uint64{10, 13, 20} {
		if c.read(seq) {
			t.Errorf("%d is read twice", seq)
		}
	}
	c.droppedThen(&ipc.Drop{Seqs: []uint64{12, 3, 21, 12}})
	c.end = 24
	want := Account{Read: 5, Dropped: map[string]uint64{}, DroppedThen: 3, Missing: 9 + 5 + 2, First: 10, Gone: 9}
	if got := c.closed(); !reflect.DeepEqual(got, want) || got.Read+got.DroppedThen+got.Missing != 24 {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// Of a camera whose frames are all gone nothing is known but how many they were.
func TestAccountOfNothing(t *testing.T) {
	c := newCamera()
	c.end = 7
	if got := c.closed(); got.Missing != 7 || got.Gone != 7 || got.Read != 0 {
		t.Errorf("%+v", got)
	}
}

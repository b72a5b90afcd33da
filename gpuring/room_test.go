package gpuring_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"facetrack/gpuring"
	"facetrack/gpuring/ringtest"
)

// tight gives options for a folder on a tmpfs with room for one and a half rings.
func tight(t *testing.T) gpuring.Options {
	t.Helper()
	o := options(t, small)
	c := ownMounts(t, o.Dir, 1536)
	o.Dir = filepath.Join(fmt.Sprintf("/proc/%d/root", c.cmd.Process.Pid), o.Dir)
	return o
}

// killedBesideReaders is a ring whose writer was killed after a frame, with a reader here and one in another process.
func killedBesideReaders(t *testing.T, o gpuring.Options) (local gpuring.Reader, last gpuring.Ticket, next func() gpuring.Lease) {
	t.Helper()
	writer, reader := spawn(t, gpuring.Faults{}), spawn(t, gpuring.Faults{})
	d := writer.must(command{Do: "create", Options: &o}).Descriptor
	last = *writer.must(command{Do: "publish"}).Ticket
	reader.must(command{Do: "attach", Descriptor: d})
	local, err := gpuring.Open(*d, "local")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Close() })
	return local, last, func() gpuring.Lease {
		lease, err := local.Lease(last)
		if err != nil {
			t.Fatal(err)
		}
		writer.kill()
		return lease
	}
}

// TestNoRoomBesideADeadRing: where two rings have no room, readers of the dead one make some.
func TestNoRoomBesideADeadRing(t *testing.T) {
	o := tight(t)
	local, last, kill := killedBesideReaders(t, o)
	if err := kill().Release(); err != nil {
		t.Fatal(err)
	}
	w := create(t, o)
	if next := publish(t, w); next.Seq != last.Seq+1 {
		t.Errorf("frame %d follows frame %d", next.Seq, last.Seq)
	}
	if _, err := local.Lease(last); !errors.Is(err, gpuring.ErrClosed) {
		t.Errorf("lease of the dead ring: %v, want ErrClosed", err)
	}
}

// TestLeaseOutlivesTheRoom: the pixels of a lease stay, and the next ring comes after it.
func TestLeaseOutlivesTheRoom(t *testing.T) {
	o := tight(t)
	_, last, kill := killedBesideReaders(t, o)
	lease := kill()
	if _, err := gpuring.Create(o); !errors.Is(err, gpuring.ErrCrowded) || !errors.Is(err, gpuring.ErrNoSpace) {
		t.Errorf("Create beside a lease: %v, want ErrCrowded and ErrNoSpace", err)
	} else {
		oneLine(t, err, "needs 1 MiB", "0 MiB free")
	}
	if !ringtest.Whole(lease.View().Host, last.Seq) || lease.Release() != nil {
		t.Error("the lease did not last")
	}
	if next := publish(t, create(t, o)); next.Seq != last.Seq+1 {
		t.Errorf("frame %d follows frame %d", next.Seq, last.Seq)
	}
}

// TestNeverEnoughRoom: nobody waits for room that cannot be.
func TestNeverEnoughRoom(t *testing.T) {
	o := tight(t)
	_, _, kill := killedBesideReaders(t, o)
	kill()
	o.Geometry.Slots *= 2
	if _, err := gpuring.Create(o); !errors.Is(err, gpuring.ErrNoSpace) || errors.Is(err, gpuring.ErrCrowded) {
		t.Errorf("%v, want ErrNoSpace, and not ErrCrowded", err)
	}
}

// TestRoomAfterClose: a writer that closes leaves room for the next, whoever has read its ring.
func TestRoomAfterClose(t *testing.T) {
	o := tight(t)
	for range 3 {
		w := create(t, o)
		r, err := w.AttachLocal("reader")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		reader, d := spawn(t, gpuring.Faults{}), w.Descriptor()
		reader.must(command{Do: "attach", Descriptor: &d})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadersMakeRoom is TestNoRoomBesideADeadRing where no tmpfs can be mounted: room is when the old pixels are mapped no more.
func TestReadersMakeRoom(t *testing.T) {
	o := options(t, small)
	_, last, kill := killedBesideReaders(t, o)
	if err := kill().Release(); err != nil {
		t.Fatal(err)
	}
	mapped := func() bool {
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Error(err)
		}
		return bytes.Contains(maps, []byte(filepath.Join(o.Dir, "facetrack-lab-cam0.pix")))
	}
	if !mapped() {
		t.Error("the dead ring is not mapped: this test shows nothing")
	}
	w, err := gpuring.CreateWithin(o, func() bool { return !mapped() })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	if next := publish(t, w); next.Seq != last.Seq+1 {
		t.Errorf("frame %d follows frame %d", next.Seq, last.Seq)
	}
}

// TestPositionOfANewRing: it is there from the first moment, and a dead writer's counts for more.
func TestPositionOfANewRing(t *testing.T) {
	o := options(t, small)
	o.Position = 7
	writer := spawn(t, gpuring.Faults{})
	writer.must(command{Do: "create", Options: &o})
	writer.kill()
	o.Position = 9
	w := afterDeath(t, o)
	if got := w.Position(); got != 7 {
		t.Errorf("position %d, want the dead writer's 7", got)
	}
}

//go:build cuda

package cuda_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"

	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
)

func must[T any](t testing.TB) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func pinned(t testing.TB, c *cuda.Context, bytes int) *cuda.Pinned {
	t.Helper()
	p := must[*cuda.Pinned](t)(c.AllocPinned(bytes))
	t.Cleanup(func() { check(t, p.Close()) })
	return p
}

func memory(t testing.TB, c *cuda.Context, bytes int64) *cuda.Memory {
	t.Helper()
	m := must[*cuda.Memory](t)(c.Alloc(bytes))
	t.Cleanup(func() { check(t, m.Close()) })
	return m
}

func stream(t testing.TB, c *cuda.Context) *cuda.Stream {
	t.Helper()
	s := must[*cuda.Stream](t)(c.NewStream())
	t.Cleanup(func() { check(t, s.Close()) })
	return s
}

// pattern is a text that no other seed gives.
func pattern(n, seed int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte((i*31)^(i>>8)) + byte(seed)
	}
	return p
}

func TestDeviceIsDescribed(t *testing.T) {
	c := cudatest.Use(t)
	d := c.Device()
	if d.Name == "" || d.UUID == (cuda.UUID{}) || d.Memory < 1<<20 || d.Major < 5 || len(d.PCI) != len("0000:19:00.0") {
		t.Errorf("%+v", d)
	}
	for _, name := range []string{d.ID(), "0"} {
		if found := must[cuda.Device](t)(cuda.SelectDevice(name)); found != d {
			t.Errorf("%s: %+v, want %+v", name, found, d)
		}
	}
	if v := must[int](t)(cuda.DriverVersion()); v < 11000 {
		t.Errorf("driver version %d", v)
	}
	if _, err := cuda.DeviceByUUID(cuda.UUID{1, 2, 3}); !errors.Is(err, cuda.ErrNoSuchDevice) {
		t.Errorf("a UUID of no device: %v", err)
	}
}

func TestCopies(t *testing.T) {
	c := cudatest.Use(t)
	s := stream(t, c)
	const size = 3 << 20
	m := memory(t, c, size)
	if m.Bytes() != 4<<20 || m.Address()%512 != 0 {
		t.Errorf("%d bytes at %x", m.Bytes(), m.Address())
	}
	host, back := pinned(t, c, size), pinned(t, c, size)
	copy(back.Bytes(), pattern(size, 9))
	check(t, s.Download(back.Bytes(), m.Address()), s.Synchronize())
	if !bytes.Equal(back.Bytes(), make([]byte, size)) {
		t.Error("new memory is not zeroed")
	}
	copy(host.Bytes(), pattern(size, 1))
	const half = size / 2
	check(t,
		s.Upload(m.Address(), host.Bytes()),
		s.Copy(m.Address()+half, m.Address(), half),
		s.Fill(m.Address()+16, 0xa5, 16),
		s.Download(back.Bytes(), m.Address()),
		s.Synchronize())
	want := pattern(size, 1)
	copy(want[half:], want[:half])
	copy(want[16:], bytes.Repeat([]byte{0xa5}, 16))
	if !bytes.Equal(back.Bytes(), want) {
		t.Error("upload, copy, fill and download gave other bytes")
	}
}

func TestFreedMemoryIsThereAgain(t *testing.T) {
	c := cudatest.Use(t)
	free := func() int64 {
		free, total, err := c.MemInfo()
		if err != nil || free > total {
			t.Fatal(free, total, err)
		}
		return free
	}
	var before, during, after int64
	for range 100 { // other programs use the device too
		before = free()
		m := must[*cuda.Memory](t)(c.Alloc(64 << 20))
		during = free()
		check(t, m.Close())
		if after = free(); during <= before-64<<20 && after == before {
			break
		}
	}
	if during > before-64<<20 || after != before {
		t.Errorf("%d bytes free, %d with 64 MiB taken, %d afterwards", before, during, after)
	}
	if _, err := c.Alloc(1 << 50); !errors.Is(err, cuda.OutOfMemory) {
		t.Errorf("a petabyte: %v", err)
	}
}

// Work behind an event of another stream waits for it on the device, and the host does not.
func TestEventsOrderStreams(t *testing.T) {
	c := cudatest.Use(t)
	if !c.Device().MemOps64 {
		t.Skip("the test holds a stream with 64-bit memory operations, which this device lacks")
	}
	first, second, other := stream(t, c), stream(t, c), stream(t, c)
	m, back := memory(t, c, 1<<20), pinned(t, c, 1)
	e := must[*cuda.Event](t)(c.NewEvent(cuda.EventOptions{}))
	defer e.Close()
	if done := must[bool](t)(e.Done()); !done {
		t.Error("an event that was never recorded is not done")
	}
	gate := m.Address() + 4096
	const huge = 1<<63 + 5 // compared as a difference: 5 is far below, and above 1<<63-1
	check(t, first.Write64(gate, huge-1), first.WaitGEQ64(gate, huge), first.Fill(m.Address(), 7, 1), first.Record(e))
	check(t, second.Wait(e), second.Download(back.Bytes(), m.Address()))
	for range 50 {
		if must[bool](t)(e.Done()) || must[bool](t)(second.Done()) || must[bool](t)(first.Done()) {
			t.Fatal("work went on before what it waits for")
		}
		time.Sleep(time.Millisecond)
	}
	// An event may be done a moment before its stream has nothing left to do, so the stream is waited for too.
	check(t, other.Write64(gate, huge), second.Synchronize(), e.Synchronize(), first.Synchronize())
	if back.Bytes()[0] != 7 {
		t.Errorf("read %d, want the 7 that was written before the event", back.Bytes()[0])
	}
	if !must[bool](t)(e.Done()) || !must[bool](t)(first.Done()) {
		t.Error("not done after it was waited for")
	}
}

func TestElapsed(t *testing.T) {
	c := cudatest.Use(t)
	s, m := stream(t, c), memory(t, c, 32<<20)
	a := must[*cuda.Event](t)(c.NewEvent(cuda.EventOptions{Timing: true}))
	defer a.Close()
	b := must[*cuda.Event](t)(c.NewEvent(cuda.EventOptions{Timing: true}))
	defer b.Close()
	check(t, s.Record(a), s.Fill(m.Address(), 1, m.Bytes()), s.Record(b), s.Synchronize())
	if ms := must[float64](t)(b.ElapsedMS(a)); ms <= 0 || ms > 60e3 {
		t.Errorf("%v ms", ms)
	}
	if _, err := c.NewEvent(cuda.EventOptions{Timing: true, Interprocess: true}); !errors.Is(err, cuda.InvalidValue) {
		t.Errorf("an event that is both: %v", err)
	}
}

func TestGraph(t *testing.T) {
	c := cudatest.Use(t)
	s, m := stream(t, c), memory(t, c, 1<<20)
	in, out := pinned(t, c, 1<<20), pinned(t, c, 1<<20)
	copy(out.Bytes(), pattern(1<<20, 3))
	check(t, s.BeginCapture(), s.Upload(m.Address(), in.Bytes()), s.Fill(m.Address(), 9, 1), s.Download(out.Bytes(), m.Address()))
	g := must[*cuda.Graph](t)(s.EndCapture())
	check(t, s.Synchronize())
	if !bytes.Equal(out.Bytes(), pattern(1<<20, 3)) {
		t.Error("a capture does what it notes")
	}
	for seed := range 3 {
		copy(in.Bytes(), pattern(1<<20, seed))
		check(t, g.Launch(s), s.Synchronize())
		want := pattern(1<<20, seed)
		want[0] = 9
		if !bytes.Equal(out.Bytes(), want) {
			t.Errorf("launch %d gave other bytes", seed)
		}
	}
	check(t, g.Close(), g.Close())
	if err := g.Launch(s); !errors.Is(err, cuda.ErrClosed) {
		t.Errorf("a closed graph: %v", err)
	}
}

// Goroutines move between threads: whatever thread a call is made on has the context.
func TestManyGoroutines(t *testing.T) {
	c := cudatest.Use(t)
	m := memory(t, c, 16<<20)
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			s, err := c.NewStream()
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			p, err := c.AllocPinned(4096)
			if err != nil {
				t.Error(err)
				return
			}
			defer p.Close()
			at := m.Address() + uint64(i)<<20
			for n := range 50 {
				err := errors.Join(s.Fill(at, byte(i+n), 4096), s.Download(p.Bytes(), at), s.Synchronize())
				if err != nil || !bytes.Equal(p.Bytes(), bytes.Repeat([]byte{byte(i + n)}, 4096)) {
					t.Errorf("goroutine %d, round %d: %v", i, n, err)
					return
				}
			}
		})
	}
	group.Wait()
}

func TestRegister(t *testing.T) {
	c := cudatest.Use(t)
	s, m := stream(t, c), memory(t, c, 1<<20)
	mem := mapping(t, 1<<20)
	p := must[*cuda.Pinned](t)(c.Register(mem))
	if _, err := c.Register(mem); !errors.Is(err, cuda.HostAlreadyPinned) {
		t.Errorf("page-locked twice: %v", err)
	}
	copy(p.Bytes(), pattern(1<<20, 4))
	back := pinned(t, c, 1<<20)
	check(t, s.Upload(m.Address(), p.Bytes()), s.Download(back.Bytes(), m.Address()), s.Synchronize())
	if !bytes.Equal(back.Bytes(), pattern(1<<20, 4)) {
		t.Error("other bytes came back")
	}
	check(t, p.Close(), p.Close())
	if p.Bytes() != nil {
		t.Error("still there after Close")
	}
	p = must[*cuda.Pinned](t)(c.Register(mem)) // free again
	check(t, p.Close())
}

func TestPeers(t *testing.T) {
	t.Setenv("FAKE_CUDA_DEVICES", "2")
	t.Setenv("FAKE_CUDA_PEER", "1")
	c := cudatest.Use(t)
	devices := must[[]cuda.Device](t)(cuda.Devices())
	if len(devices) < 2 {
		t.Skip("NOT RUN: there is one GPU here")
	}
	if devices[0].UUID == devices[1].UUID || devices[0].PCI == devices[1].PCI {
		t.Errorf("two devices, one identity: %+v", devices)
	}
	if can := must[bool](t)(devices[0].CanAccessPeer(devices[1])); !can {
		t.Skip("NOT RUN: the two GPUs here do not reach each other")
	}
	other := must[*cuda.Context](t)(cuda.Open(devices[1]))
	defer other.Close()
	check(t, c.EnablePeer(other), c.EnablePeer(other), c.EnablePeer(c))
	theirs := memory(t, other, 1<<20)
	far, near, back := stream(t, other), stream(t, c), pinned(t, c, 1)
	check(t, far.Fill(theirs.Address(), 0x33, 1), far.Synchronize(), near.Download(back.Bytes(), theirs.Address()), near.Synchronize())
	if back.Bytes()[0] != 0x33 {
		t.Errorf("read %x from the other GPU, want 33", back.Bytes()[0])
	}
}

// BenchmarkCall is what one call costs beside the driver: context, thread, fault plan, and the way into C.
func BenchmarkCall(b *testing.B) {
	c := cudatest.Use(b)
	s := stream(b, c)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Done(); err != nil {
			b.Fatal(err)
		}
	}
}

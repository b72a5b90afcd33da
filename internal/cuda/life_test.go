package cuda

import (
	"errors"
	"io"
	"slices"
	"sync"
	"testing"

	"facetrack/internal/fault"
)

func TestContextIsSharedAndCounted(t *testing.T) {
	f := useFake(t)
	a := must[*Context](t)(Open(Device{}))
	b := must[*Context](t)(Open(Device{}))
	other := must[*Context](t)(Open(Device{Ordinal: 1}))
	if f.live["context"] != 2 {
		t.Errorf("%d contexts for two devices", f.live["context"])
	}
	for range 3 { // more often than it was opened
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if f.live["context"] != 2 {
		t.Error("closing one user's context twice took it away from the other user")
	}
	if _, err := a.NewStream(); !errors.Is(err, ErrClosed) {
		t.Errorf("a stream of a closed context: %v", err)
	}
	if err := errors.Join(b.Close(), other.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestObjectsOutliveTheirContext(t *testing.T) {
	f := useFake(t)
	c := must[*Context](t)(Open(Device{}))
	s := must[*Stream](t)(c.NewStream())
	m := must[*Memory](t)(c.Alloc(1))
	e := must[*Event](t)(c.NewEvent(EventOptions{}))
	i := must[*Memory](t)(c.Import(Handle{1}))
	if m.Bytes() != 2<<20 {
		t.Errorf("1 byte is rounded up to %d", m.Bytes())
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Fill(0, 0, 1); err != nil {
		t.Errorf("a stream after its context was closed: %v", err)
	}
	for _, v := range []io.Closer{m, s, i, e} {
		if f.live["context"] != 1 {
			t.Fatal("the context went before the last thing that was made with it")
		}
		if err := errors.Join(v.Close(), v.Close()); err != nil {
			t.Error(err)
		}
	}
	if err := s.Fill(0, 0, 1); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed stream: %v", err)
	}
}

// Close during a call returns at once, and the stream goes after the call.
func TestCloseUnderACall(t *testing.T) {
	f := useFake(t)
	f.gate, f.waiting = make(chan struct{}), make(chan struct{})
	c := must[*Context](t)(Open(Device{}))
	s := must[*Stream](t)(c.NewStream())
	result := make(chan error)
	go func() { result <- s.Synchronize() }()
	<-f.waiting
	if err := errors.Join(s.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	if f.live["stream"] != 1 || f.live["context"] != 1 {
		t.Fatal("the stream went away under a call")
	}
	close(f.gate)
	if err := <-result; err != nil {
		t.Error(err)
	}
}

func TestImportsAreCounted(t *testing.T) {
	f := useFake(t)
	c := must[*Context](t)(Open(Device{}))
	defer c.Close()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 200 {
				a, err := c.Import(Handle{1})
				if err != nil {
					t.Error(err)
					return
				}
				b := must[*Memory](t)(c.Import(Handle{2}))
				if a.Address() == b.Address() || a.Bytes() != granule {
					t.Errorf("two handles: %x and %x of %d bytes", a.Address(), b.Address(), a.Bytes())
				}
				if err := errors.Join(a.Close(), b.Close(), b.Close()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	first := must[*Memory](t)(c.Import(Handle{3}))
	second := must[*Memory](t)(c.Import(Handle{3}))
	group.Wait()
	if first.Address() != second.Address() || f.live["mapping"] != 1 {
		t.Errorf("one handle, two imports: %x and %x, %d mappings", first.Address(), second.Address(), f.live["mapping"])
	}
	if err := first.Close(); err != nil || f.live["mapping"] != 1 {
		t.Errorf("%d mappings with one user left: %v", f.live["mapping"], err)
	}
	if err := second.Close(); err != nil || f.live["mapping"] != 0 {
		t.Errorf("%d mappings with no user left: %v", f.live["mapping"], err)
	}
}

func TestAFailedImportLeavesNothing(t *testing.T) {
	useFake(t)
	c := must[*Context](t)(Open(Device{}))
	defer c.Close()
	fault.Plan("cuIpcOpenMemHandle=201")
	_, err := c.Import(Handle{1})
	var e *Error
	if !errors.As(err, &e) || *e != (Error{"cuIpcOpenMemHandle", 201, "CUDA_ERROR_INVALID_CONTEXT"}) {
		t.Errorf("%v, want the planned fault", err)
	}
	fault.Plan("")
	m := must[*Memory](t)(c.Import(Handle{1}))
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

func TestArguments(t *testing.T) {
	var a arguments
	if err := a.take([]any{uint64(1 << 40), uint32(0xfffffffe), int32(-2), float32(1.5)}); err != nil {
		t.Fatal(err)
	}
	want := []uint64{1 << 40, 0xfffffffe, 0xfffffffe, 0x3fc00000}
	for i, w := range want {
		if a.words[i] != w {
			t.Errorf("argument %d is %x, want %x", i, a.words[i], w)
		}
	}
	for _, bad := range [][]any{{1}, {int64(1)}, {1.5}, {nil}, make([]any, maxArguments+1)} {
		if err := a.take(bad); err == nil {
			t.Errorf("%T is accepted", bad[0])
		}
	}
}

func TestLaunch(t *testing.T) {
	f := useFake(t)
	c := must[*Context](t)(Open(Device{}))
	defer c.Close()
	s := must[*Stream](t)(c.NewStream())
	defer s.Close()
	m := must[*Module](t)(c.LoadModule(nil))
	k := must[*Function](t)(m.Function("kernel"))
	address, rows := uint64(1)<<33, uint32(1080)
	launch := func() {
		if err := s.Launch(k, Dim{X: 1}, Dim{X: 32}, 0, address, rows); err != nil {
			t.Error(err)
		}
	}
	launch()
	if !slices.Equal(f.launched, []uint64{1 << 33, 1080}) {
		t.Errorf("launched with %v", f.launched)
	}
	if n := testing.AllocsPerRun(1000, launch); n > 0 {
		t.Errorf("%v allocations a launch", n)
	}
	if err := s.Launch(k, Dim{X: 1}, Dim{X: 32}, 0, 12); !errors.Is(err, errArgument) {
		t.Errorf("an argument of Go's type int: %v", err)
	}
	if err := k.AllowShared(64 << 10); err != nil {
		t.Error(err)
	}
	if err := k.AllowShared(1 << 20); !errors.Is(err, InvalidValue) {
		t.Errorf("more shared memory than a block can have: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Launch(k, Dim{X: 1}, Dim{X: 32}, 0); !errors.Is(err, ErrClosed) {
		t.Errorf("a kernel of a module that was unloaded: %v", err)
	}
	if err := k.AllowShared(0); !errors.Is(err, ErrClosed) {
		t.Errorf("shared memory for a kernel of a module that was unloaded: %v", err)
	}
}

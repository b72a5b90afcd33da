package cuda

import (
	"sync"
	"testing"

	"facetrack/internal/fault"
)

// fake is a driver in Go: it counts what is taken and given back, and fails a test that does it out of turn. What it does
// not have is nil and panics.
type fake struct {
	driver
	t  *testing.T
	mu sync.Mutex

	live    map[string]int // retained contexts, mapped handles, streams, … that exist
	calls   map[string]int
	devices []Device
	sick    map[int]bool // devices that do not tell their name

	launched []uint64
	gate     chan struct{} // streamSynchronize waits for it when it is not nil
	waiting  chan struct{} // … and says so here
}

func useFake(t *testing.T) *fake {
	f := &fake{t: t, live: map[string]int{}, calls: map[string]int{}, devices: []Device{{Name: "A", UUID: UUID{1}}, {Ordinal: 1, Name: "B", UUID: UUID{2}}}}
	loading.Lock()
	old, oldErr, oldDone := loading.driver, loading.err, loading.done
	loading.driver, loading.err, loading.done = f, nil, true
	loading.Unlock()
	t.Cleanup(func() {
		fault.Plan("")
		for what, n := range f.live {
			if n != 0 {
				t.Errorf("%d of %s left over", n, what)
			}
		}
		loading.Lock()
		loading.driver, loading.err, loading.done = old, oldErr, oldDone
		loading.Unlock()
	})
	return f
}

func (f *fake) take(what string) (word, Code) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live[what]++
	f.calls[what]++
	return word(f.calls[what]), 0
}

func (f *fake) give(what string) Code {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.live[what]--; f.live[what] < 0 {
		f.t.Errorf("%s is given back once too often", what)
	}
	return 0
}

func (f *fake) use(what string) Code {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.live[what] == 0 {
		f.t.Errorf("%s is used when there is none", what)
	}
	return 0
}

func (f *fake) errorName(Code) string                 { return "" }
func (f *fake) deviceCount() (int, Code)              { return len(f.devices), 0 }
func (f *fake) deviceGet(i int) (int, Code)           { return i, 0 }
func (f *fake) deviceMemory(int) (int64, Code)        { return 1 << 30, 0 }
func (f *fake) deviceUUID(i int) (UUID, Code)         { return UUID{f.devices[i].UUID[0]}, 0 }
func (f *fake) deviceUUIDv2(i int) (UUID, Code)       { return f.devices[i].UUID, 0 }
func (f *fake) canAccessPeer(_, _ int) (bool, Code)   { return true, 0 }
func (f *fake) contextRetain(int) (word, Code)        { return f.take("context") }
func (f *fake) contextRelease(int) Code               { return f.give("context") }
func (f *fake) contextSet(word) Code                  { return f.use("context") }
func (f *fake) memOpen(h Handle) (uint64, Code)       { w, c := f.take("mapping"); return uint64(w) << 21, c }
func (f *fake) memBytes(uint64) (int64, Code)         { return granule, 0 }
func (f *fake) memClose(uint64) Code                  { return f.give("mapping") }
func (f *fake) streamCreate() (word, Code)            { return f.take("stream") }
func (f *fake) streamDestroy(word) Code               { return f.give("stream") }
func (f *fake) fill(word, uint64, byte, int64) Code   { return f.use("stream") }
func (f *fake) memAlloc(n int64) (uint64, Code)       { w, c := f.take("memory"); return uint64(w) << 32, c }
func (f *fake) memFree(uint64) Code                   { return f.give("memory") }
func (f *fake) eventCreate(EventOptions) (word, Code) { return f.take("event") }
func (f *fake) eventDestroy(word) Code                { return f.give("event") }

func (f *fake) deviceName(i int) (string, Code) {
	if f.sick[i] {
		return "", Unknown
	}
	return f.devices[i].Name, 0
}

func (f *fake) moduleLoad([]byte) (word, Code)               { return f.take("module") }
func (f *fake) moduleUnload(word) Code                       { return f.give("module") }
func (f *fake) moduleFunction(_ word, _ string) (word, Code) { return 7, 0 }
func (f *fake) functionShared(_ word, bytes int) Code {
	if bytes > 227<<10 {
		return InvalidValue
	}
	return f.use("module")
}

func (f *fake) launch(_, _ word, _, _ Dim, _ int, values []uint64) Code {
	f.launched = append(f.launched[:0], values...)
	return f.use("module")
}

func (f *fake) deviceAttribute(dev, attribute int) (int, Code) {
	switch attribute {
	case attributeComputeMode:
		return f.devices[dev].ComputeMode, 0
	case attributeIntegrated:
		if f.devices[dev].Integrated {
			return 1, 0
		}
	case attributeShared:
		return 227 << 10, 0
	case attributeIPCEvents:
		return 0, InvalidValue // as a driver that does not know the attribute
	case attributeUnified, attributeMemOps64V1:
		return 1, 0
	}
	return 0, 0
}

func (f *fake) streamSynchronize(word) Code {
	if f.gate != nil {
		f.waiting <- struct{}{}
		<-f.gate
	}
	return f.use("stream")
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

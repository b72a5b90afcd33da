package cuda

import (
	"errors"
	"sync"
	"testing"
	"time"
)

// slowFake is a fake whose first device takes over a context as long as the test wants. It fails the test when a context is
// made while another one of its device is there, or on its way.
type slowFake struct {
	*fake
	entered chan string // what the first device has begun …
	gate    chan Code   // … and ends with this status; nil: at once, and well
	busy    [2]sync.Mutex
}

func useSlowFake(t *testing.T) *slowFake {
	s := &slowFake{fake: useFake(t)}
	loading.Lock()
	loading.driver = s
	loading.Unlock()
	return s
}

func (s *slowFake) slow() {
	s.entered, s.gate = make(chan string), make(chan Code)
}

func (s *slowFake) wait(dev int, what string) Code {
	if dev != 0 || s.gate == nil {
		return 0
	}
	s.entered <- what
	return <-s.gate
}

func (s *slowFake) contextRetain(dev int) (word, Code) {
	if !s.busy[dev].TryLock() {
		s.t.Errorf("device %d: a second context", dev)
		return 0, Unknown
	}
	if code := s.wait(dev, "retain"); code != 0 {
		s.busy[dev].Unlock()
		return 0, code
	}
	return s.fake.contextRetain(dev)
}

func (s *slowFake) contextRelease(dev int) Code {
	_ = s.wait(dev, "release")
	defer s.busy[dev].Unlock()
	return s.fake.contextRelease(dev)
}

// openAll begins to open the first device so many times at once; nil says that it failed.
func openAll(n int) <-chan *Context {
	opened := make(chan *Context, n)
	for range n {
		go func() {
			c, err := Open(Device{})
			if err != nil {
				c = nil
			}
			opened <- c
		}()
	}
	return opened
}

// users waits until the first device has as many.
func users(t *testing.T, want int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		primaries.Lock()
		have := 0
		if p := primaries.byOrdinal[0]; p != nil {
			have = p.users
		}
		primaries.Unlock()
		if have == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d users, want %d", have, want)
		}
	}
}

// useOther works with the second device while the first is busy.
func useOther(t *testing.T) {
	t.Helper()
	c := must[*Context](t)(Open(Device{Ordinal: 1}))
	s := must[*Stream](t)(c.NewStream())
	if err := errors.Join(s.Close(), c.Close()); err != nil {
		t.Error(err)
	}
}

func TestASlowDeviceHoldsUpNoOther(t *testing.T) {
	s := useSlowFake(t)
	s.slow()
	opened := openAll(3)
	<-s.entered
	users(t, 3)
	useOther(t)
	s.gate <- 0
	contexts := [3]*Context{<-opened, <-opened, <-opened}
	if s.live["context"] != 1 {
		t.Errorf("%d contexts", s.live["context"])
	}
	for _, c := range contexts[1:] {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	closed := make(chan error)
	go func() { closed <- contexts[0].Close() }()
	if what := <-s.entered; what != "release" {
		t.Errorf("%s", what)
	}
	useOther(t)
	again := openAll(2) // waits for the release
	useOther(t)
	s.gate <- 0
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if what := <-s.entered; what != "retain" {
		t.Errorf("%s", what)
	}
	s.gate <- 0
	contexts[0], contexts[1] = <-again, <-again
	s.gate = nil
	if err := errors.Join(contexts[0].Close(), contexts[1].Close()); err != nil {
		t.Error(err)
	}
}

func TestAFailureIsToldToAllWhoWait(t *testing.T) {
	s := useSlowFake(t)
	s.slow()
	opened := openAll(3)
	<-s.entered
	users(t, 3)
	s.gate <- OutOfMemory
	for range 3 {
		if c := <-opened; c != nil {
			t.Error("opened")
		}
	}
	s.gate = nil
	c := must[*Context](t)(Open(Device{})) // a new try
	if s.calls["context"] != 1 {
		t.Errorf("%d contexts were made", s.calls["context"])
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenAndCloseFromEverywhere(t *testing.T) {
	s := useSlowFake(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for n := range 300 {
				c, err := Open(Device{Ordinal: (i + n) % 2})
				if err != nil {
					t.Error(err)
					return
				}
				stream, err := c.NewStream()
				if err := errors.Join(err, c.Close(), stream.Fill(0, 0, 1), stream.Close()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	if len(primaries.byOrdinal) != 0 || s.live["context"] != 0 {
		t.Errorf("%d contexts known, %d there", len(primaries.byOrdinal), s.live["context"])
	}
}

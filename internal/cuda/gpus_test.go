//go:build cuda && !gpu

package cuda_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
)

// gpus makes the fake driver show so many GPUs; the first is in use already.
func gpus(t *testing.T, count string) []cuda.Device {
	t.Helper()
	t.Setenv("FAKE_CUDA_DEVICES", count)
	cudatest.Use(t)
	return must[[]cuda.Device](t)(cuda.Devices())
}

// hold returns once the driver waits at the pipe; what it returns lets it go on.
func hold(t *testing.T, pipe string) (free func()) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		p, err := os.OpenFile(pipe, os.O_WRONLY|unix.O_NONBLOCK, 0)
		if err == nil {
			return func() { check(t, p.Close()) }
		}
		if !errors.Is(err, unix.ENXIO) || time.Now().After(end) { // ENXIO: nobody reads it
			t.Fatal(err)
		}
	}
}

// While a GPU is brought up or torn down, every other one can be opened, used and closed.
func TestASlowGPUHoldsUpNoOther(t *testing.T) {
	slow := filepath.Join(t.TempDir(), "slow")
	t.Setenv("FAKE_CUDA_SLOW", slow)
	devices := gpus(t, "3")
	pipe := slow + ".1"
	use := func(d cuda.Device) {
		t.Helper()
		c := must[*cuda.Context](t)(cuda.Open(d))
		s := must[*cuda.Stream](t)(c.NewStream())
		m := must[*cuda.Memory](t)(c.Alloc(1))
		check(t, s.Fill(m.Address(), 1, 1), s.Synchronize(), s.Close(), m.Close(), c.Close())
	}
	check(t, unix.Mkfifo(pipe, 0o600))
	var c *cuda.Context
	ended := make(chan error)
	go func() {
		var err error
		c, err = cuda.Open(devices[1])
		ended <- err
	}()
	free := hold(t, pipe)
	use(devices[0])
	use(devices[2])
	free()
	check(t, <-ended)
	go func() { ended <- c.Close() }()
	free = hold(t, pipe)
	use(devices[0])
	use(devices[2])
	check(t, os.Remove(pipe))
	free()
	check(t, <-ended)
	use(devices[1])
}

func TestManyGPUsAreOpenedAndClosed(t *testing.T) {
	devices := gpus(t, "4")
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			for n := range 25 {
				c, err := cuda.Open(devices[(i+n)%len(devices)])
				if err != nil {
					t.Error(err)
					return
				}
				s, err := c.NewStream()
				if err := errors.Join(err, c.Close(), s.Synchronize(), s.Close()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

func TestASickGPUHidesNoOther(t *testing.T) {
	t.Setenv("FAKE_CUDA_SICK", "1")
	devices := gpus(t, "3")
	if len(devices) != 2 || devices[1].Ordinal != 2 {
		t.Fatalf("%+v", devices)
	}
	c := must[*cuda.Context](t)(cuda.Open(devices[1]))
	check(t, c.Close())
	if _, err := cuda.SelectDevice("1"); !errors.Is(err, cuda.Unknown) {
		t.Errorf("the sick one: %v", err)
	}
}

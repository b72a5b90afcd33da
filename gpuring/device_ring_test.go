package gpuring_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/gpuring/ringtest"
	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
)

// TestDeviceRing runs the conformance suite on rings in device memory.
func TestDeviceRing(t *testing.T) {
	ctx := cudatest.Use(t)
	for _, sync := range []gpuring.Sync{gpuring.SyncAuto, gpuring.SyncEvents, gpuring.SyncMemOps} {
		t.Run("same process, "+string(sync), func(t *testing.T) {
			t.Parallel()
			ringtest.Run(t, ringtest.Factory{
				Create: settledRing(ctx), Open: openLocal(sync), Put: putHost, Get: openEye(t, ctx).get,
				Stall: func(r gpuring.Reader) { gpuring.Stall(r.(deviceOnly).Reader) },
			})
		})
		t.Run("two processes, "+string(sync), func(t *testing.T) {
			t.Parallel()
			far := &farSide{child: spawn(t, gpuring.Faults{}), sync: sync, leases: map[*gpuring.Fence]*farLease{}}
			ringtest.Run(t, ringtest.Factory{
				Create: settledRing(ctx), Open: far.open, Put: putHost, Get: far.get,
				Stall: far.stall,
			})
			far.child.must(command{Do: "gpu end"})
		})
	}
}

func putHost(v gpuring.View, frame []byte) error { copy(v.Host, frame); return nil }

// settledRing makes rings whose Begin lets uploads end first: the suite counts slots as if they were all instant.
func settledRing(ctx *cuda.Context) func(gpuring.Options) (gpuring.Writer, error) {
	return func(o gpuring.Options) (gpuring.Writer, error) {
		o.GPU = ctx
		w, err := gpuring.Create(o)
		if err != nil {
			return nil, err
		}
		return settled{w.(gpuring.DeviceWriter)}, nil
	}
}

type settled struct{ gpuring.DeviceWriter }

func (w settled) Begin() (gpuring.Claim, error) {
	for w.Stats().UploadPending > 0 {
		time.Sleep(20 * time.Microsecond)
	}
	return w.DeviceWriter.Begin()
}

// openLocal opens readers in the writer's process, and lets only the device memory be seen.
func openLocal(sync gpuring.Sync) func(d gpuring.Descriptor, name string) (gpuring.Reader, error) {
	return func(d gpuring.Descriptor, name string) (gpuring.Reader, error) {
		r, err := gpuring.OpenDevice(d, name, gpuring.DeviceOptions{Sync: sync})
		if err != nil {
			return nil, err
		}
		if !r.(gpuring.DeviceReader).SameProcess() {
			return nil, errors.New("the writer is in this process")
		}
		return deviceOnly{r}, nil
	}
}

type deviceOnly struct{ gpuring.Reader }

func (r deviceOnly) Lease(t gpuring.Ticket) (gpuring.Lease, error) {
	l, err := r.Reader.Lease(t)
	if err != nil {
		return nil, err
	}
	if l.View().Host == nil {
		return nil, errors.New("a reader in the writer's process has no host memory")
	}
	return deviceLease{l}, nil
}

type deviceLease struct{ gpuring.Lease }

func (l deviceLease) View() gpuring.View {
	v := l.Lease.View()
	v.Host = nil
	return v
}

// farSide is a process with device readers.
type farSide struct {
	child *child
	sync  gpuring.Sync

	mu     sync.Mutex // one command at a time
	leases map[*gpuring.Fence]*farLease
}

func (s *farSide) ask(cmd command) (answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.child.ask(cmd)
	return a, errNamed(a.Err)
}

func (s *farSide) open(d gpuring.Descriptor, name string) (gpuring.Reader, error) {
	a, err := s.ask(command{Do: "gpu open", Descriptor: &d, Name: name, Sync: s.sync})
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, a.Text)
	}
	return &farReader{s, a.N, d.Geometry}, nil
}

func (s *farSide) stall(r gpuring.Reader) {
	if _, err := s.ask(command{Do: "gpu stall", N: r.(*farReader).n}); err != nil {
		s.child.t.Error(err)
	}
}

// get finds the lease by its view's fence, which is no more than a name here.
func (s *farSide) get(v gpuring.View, frame []byte) error {
	if v.Fence == nil {
		copy(frame, v.Host) // of AttachLocal
		return nil
	}
	s.mu.Lock()
	l := s.leases[v.Fence]
	s.mu.Unlock()
	a, err := s.ask(command{Do: "gpu get", N: l.n, Options: &gpuring.Options{Geometry: l.geometry}})
	copy(frame, a.Pixels)
	return err
}

type farReader struct {
	*farSide
	n        int
	geometry gpuring.Geometry
}

func (r *farReader) Lease(t gpuring.Ticket) (gpuring.Lease, error) {
	a, err := r.ask(command{Do: "gpu lease", N: r.n, Tickets: []gpuring.Ticket{t}})
	if err != nil {
		return nil, err
	}
	l := &farLease{r.farSide, a.N, r.geometry, *a.View}
	l.view.Fence = &gpuring.Fence{}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leases[l.view.Fence] = l
	return l, nil
}

func (r *farReader) Close() error {
	_, err := r.ask(command{Do: "gpu close", N: r.n})
	return err
}

type farLease struct {
	*farSide
	n        int
	geometry gpuring.Geometry
	view     gpuring.View
}

func (l *farLease) View() gpuring.View { return l.view }

func (l *farLease) Valid() error {
	_, err := l.ask(command{Do: "gpu valid", N: l.n})
	return err
}

func (l *farLease) Release() error {
	_, err := l.ask(command{Do: "gpu release", N: l.n})
	return err
}

//go:build cuda

package cuda_test

import (
	"errors"
	"fmt"
	"testing"

	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/fault"
)

// Every call that is planned to fail does, names itself, and leaves everything usable.
func TestEveryCallCanFail(t *testing.T) {
	c := cudatest.Use(t)
	s, m, p := stream(t, c), memory(t, c, 1<<20), pinned(t, c, 4096)
	e := must[*cuda.Event](t)(c.NewEvent(cuda.EventOptions{Timing: true}))
	defer e.Close()
	shared := must[*cuda.Event](t)(c.NewEvent(cuda.EventOptions{Interprocess: true}))
	defer shared.Close()
	graph := func() error {
		if err := s.BeginCapture(); err != nil {
			return err
		}
		err := s.Fill(m.Address(), 1, 1)
		g, endErr := s.EndCapture()
		return errors.Join(err, endErr, g.Close())
	}
	second := func(_ any, err error) error { return err }
	steps := map[string]func() error{
		"cuInit":                      cuda.Init,
		"cuDriverGetVersion":          func() error { return second(cuda.DriverVersion()) },
		"cuDeviceGetCount":            func() error { return second(cuda.Devices()) },
		"cuDeviceGet":                 func() error { return second(cuda.Devices()) },
		"cuDeviceGetName":             func() error { return second(cuda.Devices()) },
		"cuDeviceTotalMem":            func() error { return second(cuda.Devices()) },
		"cuDeviceGetUuid":             func() error { return second(cuda.Devices()) },
		"cuDeviceGetAttribute":        func() error { return second(cuda.Devices()) },
		"cuDeviceCanAccessPeer":       func() error { return second(c.Device().CanAccessPeer(c.Device())) },
		"cuCtxSynchronize":            c.Synchronize,
		"cuMemGetInfo":                func() error { _, _, err := c.MemInfo(); return err },
		"cuMemAlloc":                  func() error { m, err := c.Alloc(1); return errors.Join(err, m.Close()) },
		"cuMemHostAlloc":              func() error { p, err := c.AllocPinned(1); return errors.Join(err, p.Close()) },
		"cuMemHostRegister":           func() error { p, err := c.Register(mapping(t, 4096)); return errors.Join(err, p.Close()) },
		"cuIpcGetMemHandle":           func() error { return second(m.Handle()) },
		"cuIpcGetEventHandle":         func() error { return second(shared.Handle()) },
		"cuEventCreate":               func() error { e, err := c.NewEvent(cuda.EventOptions{}); return errors.Join(err, e.Close()) },
		"cuEventQuery":                func() error { return second(e.Done()) },
		"cuEventSynchronize":          e.Synchronize,
		"cuEventRecord":               func() error { return s.Record(e) },
		"cuEventElapsedTime":          func() error { return errors.Join(s.Record(e), s.Synchronize(), second(e.ElapsedMS(e))) },
		"cuStreamCreate":              func() error { s, err := c.NewStream(); return errors.Join(err, s.Close()) },
		"cuStreamWaitEvent":           func() error { return s.Wait(e) },
		"cuStreamQuery":               func() error { return errors.Join(s.Synchronize(), second(s.Done())) },
		"cuStreamSynchronize":         s.Synchronize,
		"cuStreamWriteValue64":        func() error { return s.Write64(m.Address()+512<<10, 1) },
		"cuStreamWaitValue64":         func() error { return s.WaitGEQ64(m.Address()+512<<10, 0) },
		"cuMemcpyHtoDAsync":           func() error { return s.Upload(m.Address(), p.Bytes()) },
		"cuMemcpyDtoHAsync":           func() error { return s.Download(p.Bytes(), m.Address()) },
		"cuMemcpyDtoDAsync":           func() error { return s.Copy(m.Address(), m.Address()+4096, 64) },
		"cuMemsetD8Async":             func() error { return s.Fill(m.Address(), 0, 1) },
		"cuStreamBeginCapture":        graph,
		"cuGraphInstantiateWithFlags": graph,
	}
	t.Cleanup(func() { fault.Plan("") })
	for name, step := range steps {
		fault.Plan("")
		if err := step(); err != nil {
			t.Errorf("%s fails without a fault: %v", name, err)
			continue
		}
		fault.Plan(fmt.Sprintf("%s=999", name))
		var e *cuda.Error
		if err := step(); !errors.As(err, &e) || e.Call != name || e.Code != cuda.Unknown || e.Name != "CUDA_ERROR_UNKNOWN" {
			t.Errorf("%s is planned to fail: %v", name, err)
		}
	}
	fault.Plan("cuEventQuery=600,cuStreamQuery=600")
	if done, err := e.Done(); done || err != nil {
		t.Errorf("an event that is not ready: %v %v", done, err)
	}
	if done, err := s.Done(); done || err != nil {
		t.Errorf("a stream that is not ready: %v %v", done, err)
	}
}

package ipcbench

import (
	"errors"
	"time"

	"facetrack/internal/nvml"
)

// meter reads what the GPU counts on PCIe.
type meter struct {
	library *nvml.Library
	device  *nvml.Device
	idle    traffic // per second, with nothing under way
}

// traffic is bytes, or bytes per second.
type traffic struct{ up, down float64 }

// Ways to know it.
const (
	byCounters = "PCIe byte counters"
	bySamples  = "PCIe throughput, sampled"
)

const idleTime = 300 * time.Millisecond

// newMeter returns nil, and why, when the GPU does not tell.
func newMeter(uuid string) (*meter, error) {
	library, err := nvml.Open()
	if err != nil {
		return nil, err
	}
	m := &meter{library: library}
	if m.device, err = library.Device(uuid); err == nil {
		var seconds float64
		var idle traffic
		idle, seconds, _, err = m.watch(func() error { time.Sleep(idleTime); return nil })
		m.idle = traffic{idle.up / seconds, idle.down / seconds}
	}
	if err != nil {
		return nil, errors.Join(err, library.Close())
	}
	return m, nil
}

// around gives the bytes that go over PCIe because of f; nil when the GPU's counters began again meanwhile.
func (m *meter) around(f func() error) (*Seen, error) {
	all, seconds, how, err := m.watch(f)
	if err != nil {
		return nil, err
	}
	if how == "" {
		return nil, nil
	}
	return &Seen{How: how, Up: max(all.up-m.idle.up*seconds, 0), Down: max(all.down-m.idle.down*seconds, 0)}, nil
}

func (m *meter) watch(f func() error) (all traffic, seconds float64, how string, err error) {
	before, err := m.device.Traffic()
	if errors.Is(err, nvml.ErrNotSupported) {
		return m.sample(f)
	}
	if err != nil {
		return all, 0, "", err
	}
	begin := time.Now()
	if err := f(); err != nil {
		return all, 0, "", err
	}
	seconds = time.Since(begin).Seconds()
	after, err := m.device.Traffic()
	if after.RX < before.RX || after.TX < before.TX { // they have few bits on some GPUs, and begin again
		return all, seconds, "", err
	}
	return traffic{float64(after.RX - before.RX), float64(after.TX - before.TX)}, seconds, byCounters, err
}

// sample asks for the throughput again and again while f runs.
func (m *meter) sample(f func() error) (all traffic, seconds float64, how string, err error) {
	stop, done := make(chan struct{}), make(chan error, 1)
	samples := 0
	go func() {
		for {
			t, err := m.device.Throughput()
			if err != nil {
				done <- err
				return
			}
			select {
			case <-stop: // this one reaches beyond the end
				done <- nil
				return
			default:
			}
			all.up += float64(t.RXKBps) * 1e3
			all.down += float64(t.TXKBps) * 1e3
			samples++
		}
	}()
	begin := time.Now()
	err = f()
	seconds = time.Since(begin).Seconds()
	close(stop)
	if sampled := <-done; err == nil {
		err = sampled
	}
	if samples > 0 {
		all.up, all.down = all.up/float64(samples)*seconds, all.down/float64(samples)*seconds
	} else if err == nil {
		err = errors.New("the run was too short to sample PCIe traffic")
	}
	return all, seconds, bySamples, err
}

func (m *meter) Close() { _ = m.library.Close() }

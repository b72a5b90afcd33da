package app

import (
	"errors"
	"time"

	"facetrack/internal/nvml"
)

// GPUUse is what the driver tells of the busiest GPU during a run: mean values from the first kernel on.
type GPUUse struct {
	UUID     string  `json:"uuid"`
	Percent  float64 `json:"percent"` // of the time with a kernel running
	UpMBps   float64 `json:"up_mb_per_s"`
	DownMBps float64 `json:"down_mb_per_s"`
	Samples  int     `json:"samples"`
	UpMB     float64 `json:"up_mb,omitempty"` // counted during the whole run, by GPUs that do; what PCIe adds is in it
	DownMB   float64 `json:"down_mb,omitempty"`

	before, after nvml.Traffic
}

// perFrame is what went over PCIe, in MB a frame, of so many that came in so much time.
func (u *GPUUse) perFrame(frames uint64, seconds float64) (up, down float64) {
	n := float64(max(1, frames))
	return bytesOf(u.UpMB, u.UpMBps*seconds) / n, bytesOf(u.DownMB, u.DownMBps*seconds) / n
}

// bytesOf believes what a GPU has counted, unless the rates say that its counter, of 32 bits with some drivers, has begun anew meanwhile.
func bytesOf(counted, sampled float64) float64 {
	if counted > sampled/2 {
		return counted
	}
	return sampled
}

// gpuWatch samples the GPUs until it is told to end.
type gpuWatch struct {
	stop chan struct{}
	done chan *GPUUse
}

func watchGPU() *gpuWatch {
	w := &gpuWatch{stop: make(chan struct{}), done: make(chan *GPUUse, 1)}
	go func() { w.done <- w.sample() }()
	return w
}

// end returns nil where there is no GPU, or no word of it.
func (w *gpuWatch) end() *GPUUse {
	close(w.stop)
	return <-w.done
}

func (w *gpuWatch) sample() *GPUUse {
	library, err := nvml.Open()
	if err != nil {
		return nil
	}
	defer func() { _ = library.Close() }()
	devices, err := library.Devices()
	if err != nil {
		return nil
	}
	uses := make([]GPUUse, len(devices))
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return busiest(uses)
		case <-tick.C:
		}
		for i, d := range devices {
			uses[i].add(d)
		}
	}
}

// add takes one sample; one that the driver does not give is left out.
func (u *GPUUse) add(d *nvml.Device) {
	busy, err := d.Utilization()
	traffic, trafficErr := d.Throughput()
	if errors.Join(err, trafficErr) != nil {
		return
	}
	if all, err := d.Traffic(); err == nil {
		if u.before == (nvml.Traffic{}) {
			u.before = all
		}
		u.after = all
	}
	if u.Samples == 0 && busy.GPU == 0 { // the rig is starting
		return
	}
	u.UUID = d.UUID
	u.Samples++
	u.Percent += float64(busy.GPU)
	u.UpMBps += float64(traffic.RXKBps) / 1e3
	u.DownMBps += float64(traffic.TXKBps) / 1e3
}

// busiest turns sums into means.
func busiest(uses []GPUUse) *GPUUse {
	var most *GPUUse
	for i := range uses {
		u := &uses[i]
		if u.Samples == 0 {
			continue
		}
		n := float64(u.Samples)
		u.Percent, u.UpMBps, u.DownMBps = u.Percent/n, u.UpMBps/n, u.DownMBps/n
		u.UpMB, u.DownMB = counted(u.before.RX, u.after.RX), counted(u.before.TX, u.after.TX)
		if most == nil || u.Percent > most.Percent {
			most = u
		}
	}
	return most
}

// counted is in MB; 0 when the counter began anew.
func counted(before, after uint64) float64 {
	if after < before {
		return 0
	}
	return float64(after-before) / 1e6
}

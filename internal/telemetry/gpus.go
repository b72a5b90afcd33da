package telemetry

import (
	"sync"
	"time"

	"facetrack/internal/nvml"
)

// GPU is what the driver says of a GPU of this machine.
type GPU struct {
	UUID        string `json:"uuid"`
	Name        string `json:"name"`
	Busy        int    `json:"busy_percent"` // of the time with a kernel running, of any process
	MemoryUsed  int64  `json:"memory_used_bytes"`
	MemoryTotal int64  `json:"memory_total_bytes"`
}

// gpuAge is how old an answer may be before the driver is asked again.
const gpuAge = time.Second

// GPUs asks the driver about the GPUs of this machine without making anybody wait: a driver that hangs holds up nothing but its own answer.
type GPUs struct {
	read  func() []GPU
	leave func()

	mu     sync.Mutex
	last   []GPU
	asked  time.Time
	asking bool
	closed bool
}

// NewGPUs asks the management library, if there is one.
func NewGPUs() *GPUs {
	var library *nvml.Library
	var devices []*nvml.Device
	var once sync.Once
	return &GPUs{
		read: func() []GPU {
			once.Do(func() {
				var err error
				if library, err = nvml.Open(); err == nil {
					devices, _ = library.Devices() // none: there is nothing to tell
				}
			})
			return readGPUs(devices)
		},
		leave: func() { _ = library.Close() },
	}
}

func readGPUs(devices []*nvml.Device) []GPU {
	var out []GPU
	for _, d := range devices {
		memory, err := d.Memory()
		if err != nil {
			continue
		}
		busy, err := d.Utilization()
		if err != nil {
			continue // a MIG instance does not know
		}
		out = append(out, GPU{UUID: d.UUID, Name: d.Name, Busy: busy.GPU, MemoryUsed: memory.Used, MemoryTotal: memory.Total})
	}
	return out
}

// Now is the last answer; one that is too old is renewed meanwhile.
func (g *GPUs) Now() []GPU {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed && !g.asking && time.Since(g.asked) > gpuAge {
		g.asking = true
		go g.ask()
	}
	return g.last
}

func (g *GPUs) ask() {
	now := g.read()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last, g.asked, g.asking = now, time.Now(), false
	if g.closed {
		g.leave()
	}
}

// Close gives the library back, or leaves that to the answer that is still under way.
func (g *GPUs) Close() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed && !g.asking {
		g.leave()
	}
	g.closed = true
	return nil
}

package config

import (
	"runtime"
	"time"
)

// Infer says what runs the networks, and how.
type Infer struct {
	// Backend is auto (the GPU if there is one that can), cuda, cpu or reference.
	Backend string `yaml:"backend" json:"backend"`
	// Precision is auto (float16 on a GPU, float32 elsewhere), fp16 or fp32.
	Precision string `yaml:"precision" json:"precision"`
	// Mode is latency, balanced or throughput: how long frames wait on a GPU for those of other cameras.
	Mode string `yaml:"mode" json:"mode"`
	// BatchWaitMS is that time in milliseconds; 0: the mode's.
	BatchWaitMS float64 `yaml:"batch_wait_ms" json:"batch_wait_ms"`
	MaxBatch    int     `yaml:"max_batch" json:"max_batch"`
	Threads     int     `yaml:"threads" json:"threads"`
	Workers     int     `yaml:"workers" json:"workers"`
}

// BatchWait is how long a frame waits on the GPU for those of other cameras, and whether only while the stage has another batch at work.
func (i Infer) BatchWait() (wait time.Duration, eager bool) {
	wait = map[string]time.Duration{"balanced": 2 * time.Millisecond, "throughput": 8 * time.Millisecond}[i.Mode]
	if i.BatchWaitMS > 0 {
		wait = time.Duration(i.BatchWaitMS * float64(time.Millisecond))
	}
	return wait, i.Mode == "balanced"
}

// WorkerCount is how many frames each inference stage works on at once without a GPU.
func (c Config) WorkerCount() int {
	if c.Infer.Workers > 0 {
		return c.Infer.Workers
	}
	return max(1, runtime.NumCPU()/4)
}

// GPUWorkerCount is how many batches each inference stage works on at once on a GPU: two, so that one runs while the results of
// the other are sent.
func (c Config) GPUWorkerCount() int {
	if c.Infer.Workers > 0 {
		return c.Infer.Workers
	}
	return 2
}

// WantsGPU tells whether networks are to run on a GPU if one can.
func (c Config) WantsGPU() bool {
	return c.Infer.Backend == "cuda" || c.Infer.Backend == "auto" && c.CUDA.GPU != "off"
}

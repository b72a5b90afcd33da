package ipcbench

import "time"

// Result is the content of a file under docs/benchmarks.
type Result struct {
	Commit     string      `json:"commit"`
	Date       time.Time   `json:"date"`
	Seconds    float64     `json:"seconds"` // that the run took
	Machine    Machine     `json:"machine"`
	GPU        *GPU        `json:"gpu,omitempty"`
	MPS        string      `json:"mps,omitempty"` // NVIDIA's Multi-Process Service: "on" or "off"
	MPSReason  string      `json:"mps_reason,omitempty"`
	Torch      string      `json:"torch,omitempty"` // version of PyTorch and its CUDA
	Parameters Parameters  `json:"parameters"`
	Looks      string      `json:"frames_are_read_by"` // "GPU kernel" or "CPU"
	Transports []Line      `json:"transports"`
	PCIe       []PCIe      `json:"pcie,omitempty"`
	Uploads    []Bandwidth `json:"upload,omitempty"`
	Overlap    []Overlap   `json:"overlap,omitempty"`
	Targets    []Target    `json:"targets,omitempty"`
	NotRun     []NotRun    `json:"not_run,omitempty"`
}

// Parameters are what the figures hang on.
type Parameters struct {
	Width        int     `json:"width"`
	Height       int     `json:"height"`
	Rate         int     `json:"paced_frames_per_second"`
	Rounds       int     `json:"paced_rounds"`
	ExtraEvery   int     `json:"extra_transports_in_every_nth_paced_round"`
	RoundFrames  int     `json:"frames_per_paced_round"`
	RoundLimitMS float64 `json:"paced_round_limit_ms"` // a slow transport makes fewer frames
	WarmUp       int     `json:"warm_up_frames_per_round"`
	Saturated    int     `json:"saturated_rounds"`
	SaturatedMS  float64 `json:"saturated_round_ms"`
	Window       int     `json:"saturated_frames_under_way"`
	Lanes        int     `json:"saturated_consumer_streams"`
	Slots        int     `json:"slots"`
	Quick        bool    `json:"quick,omitempty"`
	Awake        bool    `json:"cpus_kept_awake"`
}

// PCIe is what one frame costs on the way between CPU and GPU when several processes read it.
type PCIe struct {
	Readers   int     `json:"readers"`
	Format    string  `json:"format"`
	Transport string  `json:"transport"`
	Measured  bool    `json:"measured"` // false: computed from the figures with one reader
	Up        float64 `json:"bytes_to_gpu_per_frame"`
	Down      float64 `json:"bytes_from_gpu_per_frame"`
	Less      float64 `json:"less_than_shm,omitempty"` // 0.75: a quarter of the bytes of shm with as many readers
	NVML      *Seen   `json:"nvml,omitempty"`
	NVMLError string  `json:"nvml_error,omitempty"`
}

// Seen is what the GPU itself counted, packet headers included, less what it counts when nothing runs.
type Seen struct {
	How  string  `json:"how"`
	Up   float64 `json:"bytes_to_gpu_per_frame"`
	Down float64 `json:"bytes_from_gpu_per_frame"`
}

// Bandwidth is the upload of a frame from one kind of host memory.
type Bandwidth struct {
	Format string  `json:"format"`
	Memory string  `json:"memory"`
	Time   Figure  `json:"time"` // call to upload until the host knows that it has ended
	GBs    float64 `json:"gb_per_s"`
	Ratio  float64 `json:"time_against_pinned"`
}

// Overlap compares uploads that overlap the consumer's kernels with those that do not.
type Overlap struct {
	Format     string    `json:"format"`
	UploadUS   float64   `json:"upload_us"` // on the GPU
	KernelUS   float64   `json:"kernel_us"` // likewise; made to be about the same
	Passes     int       `json:"kernel_passes"`
	Overlapped float64   `json:"overlapped_frames_per_second"`    // two processes, several frames under way
	RingOne    float64   `json:"one_at_a_time_frames_per_second"` // two processes, a frame is published when the last is done
	Stream     float64   `json:"one_stream_frames_per_second"`    // one process, one stream: upload, kernel, upload …, no messages
	VersusRing float64   `json:"overlapped_to_one_at_a_time"`     // ratio
	VersusOne  float64   `json:"overlapped_to_one_stream"`        // ratio
	Rounds     []float64 `json:"overlapped_rounds"`               // frames per second
	Mismatches int       `json:"mismatches"`                      // frames
	Failed     int       `json:"failed,omitempty"`                // frames
	Frames     int       `json:"frames"`                          // overlapped
	Limit      float64   `json:"ideal_against_stream,omitempty"`  // (upload + kernel) / the longer of the two
}

// Target is a figure that was promised.
type Target struct {
	What  string  `json:"what"`
	Want  string  `json:"want"`
	Value float64 `json:"value"`
	Met   bool    `json:"met"`
}

// NotRun is something that could not be measured here.
type NotRun struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Mismatches counts frames that were not what had been written, or that could not be read, in the whole run.
func (r *Result) Mismatches() (n int) {
	for _, l := range r.Transports {
		n += l.Mismatches + l.Failed
	}
	for _, o := range r.Overlap {
		n += o.Mismatches + o.Failed
	}
	return n
}

// line finds a transport, nil when it did not run.
func (r *Result) line(transport, format string) *Line {
	for i := range r.Transports {
		if l := &r.Transports[i]; l.Transport == transport && l.Format == format {
			return l
		}
	}
	return nil
}

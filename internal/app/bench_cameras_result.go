package app

import (
	"fmt"
	"time"

	"facetrack/internal/latency"
)

// CamerasResult is the content of docs/benchmarks/cameras.json.
type CamerasResult struct {
	Commit    string       `json:"commit"`
	Date      time.Time    `json:"date"`
	Machine   Machine      `json:"machine"`
	MPS       bool         `json:"mps"`
	Awake     bool         `json:"awake"`
	Backend   string       `json:"backend"` // as asked for; each run says what it was
	Infer     string       `json:"infer_mode"`
	Precision string       `json:"precision"`
	Clip      string       `json:"clip"`        // its name
	Kept      int          `json:"clip_frames"` // so many of it were played, again and again
	Size      string       `json:"size"`
	Format    string       `json:"format"`
	FPS       float64      `json:"fps"`
	LimitMS   float64      `json:"limit_ms"`
	InStep    bool         `json:"in_step"` // all cameras take their frames at the same instants
	Modes     []CamerasRun `json:"modes"`
}

// CamerasRun is what one kind of rig does.
type CamerasRun struct {
	Mode   string        `json:"mode"`
	Held   int           `json:"cameras"` // so many it tracks without a drop and within the limit; 0: not even one
	Final  CamerasStep   `json:"final"`   // the long run
	Search []CamerasStep `json:"search"`  // all runs
}

// whyNoMore is what was wrong with the least number of cameras above those that were held.
func (m CamerasRun) whyNoMore() string {
	var least CamerasStep
	for _, s := range m.Search {
		if !s.OK && s.Cameras > m.Held && (least.Cameras == 0 || s.Cameras <= least.Cameras) {
			least = s
		}
	}
	if least.Cameras == 0 {
		return ""
	}
	return fmt.Sprintf("%d: %s", least.Cameras, least.WhyNot)
}

// CamerasStep is one run.
type CamerasStep struct {
	Cameras   int                            `json:"cameras"`
	OK        bool                           `json:"ok"`                // the load was there, nothing was dropped, and all was within the limit
	WhyNot    string                         `json:"why_not,omitempty"` // not OK
	HoldS     float64                        `json:"hold_s"`            // asked for
	Seconds   float64                        `json:"seconds"`           // with the start and the end of the rig
	Captured  uint64                         `json:"captured"`
	Tracked   uint64                         `json:"tracked"`
	Dropped   map[string]uint64              `json:"dropped"`
	Faces     float64                        `json:"faces_per_frame"`
	FPS       float64                        `json:"fps"` // of all cameras together
	P50       float64                        `json:"p50_ms"`
	P95       float64                        `json:"p95_ms"`
	P99       float64                        `json:"p99_ms"`
	Stages    map[string]latency.Percentiles `json:"stage_ms"` // from the message before a stage's to its own
	CPUs      float64                        `json:"cpus"`     // CPU seconds of all processes per second
	GPU       *GPUUse                        `json:"gpu,omitempty"`
	UpMB      float64                        `json:"pcie_up_mb_per_frame,omitempty"`   // from the CPU to the GPU
	DownMB    float64                        `json:"pcie_down_mb_per_frame,omitempty"` // and back
	Backends  map[string]string              `json:"backends"`
	Transport map[string]int                 `json:"transports"` // links by transport
}

func stepOf(cameras int, d time.Duration, run BenchRun, use *GPUUse) CamerasStep {
	s := CamerasStep{
		Cameras: cameras, HoldS: d.Seconds(), Seconds: run.Summary.DurationS, CPUs: run.CPUs, GPU: use, Dropped: map[string]uint64{}, Stages: run.Summary.StageMS,
		Backends: run.Summary.Backends, Transport: map[string]int{},
	}
	var faces uint64
	for _, c := range run.Summary.Cameras {
		s.Captured, s.Tracked, faces, s.FPS = s.Captured+c.Captured, s.Tracked+c.Tracked, faces+c.Faces, s.FPS+c.FPS
		for reason, n := range c.Dropped {
			s.Dropped[reason] += n
		}
		for _, l := range c.Links {
			s.Transport[l.Transport]++
		}
	}
	if use != nil {
		s.UpMB, s.DownMB = use.perFrame(s.Captured, s.HoldS)
	}
	s.Faces = float64(faces) / float64(max(1, s.Tracked))
	all := run.Summary.LatencyMS.CaptureToTracks
	s.P50, s.P95, s.P99 = all.P50, all.P95, all.P99
	return s
}

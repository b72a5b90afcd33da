package top

import (
	"fmt"
	"time"

	"facetrack/internal/latency"
	"facetrack/internal/telemetry"
)

const (
	noGPU = "cuda-ipc: capture has no GPU: no NVIDIA driver here (libcuda.so.1 is missing): install it, or start the container with --gpus all"
	gb    = int64(1e9)
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// lab is a rig under test: its processes as they are after so many seconds of 30 frames a second.
type lab struct {
	cameras int
	seconds float64
	stats   map[string]*telemetry.Stats
	dead    map[string]bool
}

func newLab(cameras int) *lab {
	l := &lab{cameras: cameras, stats: map[string]*telemetry.Stats{}, dead: map[string]bool{}}
	for i, name := range []string{"capture", "detect", "landmarks", "tracker", "lsl-out"} {
		l.stats[name] = &telemetry.Stats{Stage: name, PID: 4100 + i, Cameras: map[string]telemetry.CameraStats{}}
	}
	l.stats["detect"].Backend, l.stats["detect"].Because = "cpu", "no GPU is visible to this process"
	l.stats["detect"].Model, l.stats["detect"].Chosen = "facetrack-detector", "public model yunet-320 not found: facetrack models fetch"
	l.stats["landmarks"].Backend = "cuda"
	l.stats["lsl-out"].Streams = &telemetry.Streams{Open: 10, Readers: 2}
	return l.after(10)
}

// after lets time pass.
func (l *lab) after(seconds float64) *lab {
	l.seconds += seconds
	for i, name := range []string{"capture", "detect", "landmarks", "tracker", "lsl-out"} {
		s := l.stats[name]
		s.UptimeS += seconds
		s.CPUSeconds += seconds * float64(i+1) / 100
		s.Memory = int64(100+10*i) * 1e6
		for n := range l.cameras {
			camera := fmt.Sprintf("cam%d", n)
			c := s.Cameras[camera]
			if state := l.stats["capture"].Cameras[camera].State; state != "" && state != "running" {
				continue
			}
			c.Frames += uint64(30 * seconds)
			c.WorkMS = latency.Percentiles{P99: float64(i) + 0.5}
			switch name {
			case "capture":
				c.State = "running"
			case "detect", "landmarks":
				c.Link = &telemetry.Link{Transport: "shm", Reason: noGPU, Attempts: []telemetry.Attempt{{Transport: "cuda-ipc", Reason: noGPU}}}
			case "tracker":
				c.Faces += uint64(60 * seconds)
				c.Recent = latency.Percentiles{P50: 4.2 + float64(n), P99: 12.3 + float64(n)}
			}
			s.Cameras[camera] = c
		}
	}
	return l
}

// drop has a stage give frames up, and those after it never see them.
func (l *lab) drop(stage, camera, reason string, n uint64) *lab {
	c := l.stats[stage].Cameras[camera]
	dropped := map[string]uint64{reason: n}
	for r, before := range c.Dropped {
		dropped[r] += before
	}
	c.Dropped = dropped
	l.stats[stage].Cameras[camera] = c
	return l
}

func (l *lab) state(camera, state string) *lab {
	c := l.stats["capture"].Cameras[camera]
	c.State = state
	l.stats["capture"].Cameras[camera] = c
	return l
}

// restart puts a new process in the place of a stage's.
func (l *lab) restart(stage string, pid int) *lab {
	s := *l.stats[stage]
	s.PID, s.UptimeS, s.CPUSeconds, s.Restarts = pid, 0.2, 0.1, s.Restarts+1
	s.Cameras = map[string]telemetry.CameraStats{}
	l.stats[stage], l.dead[stage] = &s, false
	return l
}

func (l *lab) gpu() *lab {
	for _, name := range []string{"capture", "detect", "landmarks"} {
		l.stats[name].GPUs = []telemetry.GPU{{UUID: "GPU-1", Name: "NVIDIA H200", Busy: 19, MemoryUsed: 3 * gb, MemoryTotal: 150 * gb}}
	}
	return l
}

// sample is what the rig answers now.
func (l *lab) sample() Sample {
	s := Sample{At: noon.Add(time.Duration(l.seconds * float64(time.Second)))}
	for _, name := range []string{"tracker", "capture", "lsl-out", "detect", "landmarks"} { // whoever is first
		if l.dead[name] {
			continue
		}
		st := *l.stats[name]
		st.Cameras = map[string]telemetry.CameraStats{}
		for camera, c := range l.stats[name].Cameras {
			st.Cameras[camera] = c
		}
		s.Stats = append(s.Stats, st)
	}
	return s
}

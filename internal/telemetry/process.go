package telemetry

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"syscall"
)

// RestartsVariable tells a process how often it was started again before; whoever supervises it sets it.
const RestartsVariable = "FACETRACK_RESTARTS"

// Process is what a process costs. The stages of `facetrack up --threads` are one process and all say the same.
type Process struct {
	CPUSeconds float64 `json:"cpu_s"`        // of all its threads, since it started
	Memory     int64   `json:"memory_bytes"` // resident, shared rings included
	Goroutines int     `json:"goroutines"`
	Restarts   int     `json:"restarts"` // by facetrack up
}

func process() Process {
	p := Process{Memory: resident(), Goroutines: runtime.NumGoroutine()}
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) == nil {
		p.CPUSeconds = seconds(used.Utime) + seconds(used.Stime)
	}
	p.Restarts, _ = strconv.Atoi(os.Getenv(RestartsVariable))
	return p
}

func seconds(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

// resident is 0 where /proc does not tell.
func resident() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(data)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"facetrack/internal/clock"
)

// Figures are what a process holds at one moment.
type Figures struct {
	AtNS       int64 `json:"at_ns"` // CLOCK_MONOTONIC
	PID        int   `json:"pid"`
	Files      int   `json:"files"`
	Threads    int   `json:"threads"`
	RSSKiB     int   `json:"rss_kib"`   // without shared memory
	Shared     int   `json:"shmem_kib"` // of it, mapped shared memory
	Goroutines int   `json:"goroutines,omitempty"`
	waited     time.Duration
}

// figures reads /proc; false when the process is gone.
func figures(pid int) (Figures, bool) {
	f := Figures{AtNS: clock.Now(), PID: pid, waited: waited(pid)}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return f, false
	}
	f.Threads, f.RSSKiB, f.Shared = field(status, "Threads:"), field(status, "RssAnon:"), field(status, "RssShmem:")
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	f.Files = len(files)
	return f, err == nil && f.Threads > 0
}

// field is the number of a line of /proc/…/status.
func field(status []byte, name string) int {
	_, rest, _ := bytes.Cut(status, []byte("\n"+name))
	words := strings.Fields(string(rest[:min(len(rest), 64)]))
	if len(words) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(words[0])
	return n
}

// waited is for how long the threads of a process have been ready to run and were not let, all together.
func waited(pid int) (sum time.Duration) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, file := range threads {
		data, err := os.ReadFile(file) //nolint:gosec // of /proc
		words := strings.Fields(string(data))
		if err != nil || len(words) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(words[1], 10, 64)
		sum += time.Duration(n)
	}
	return sum
}

// probe measures how late a process is that wants to run every few milliseconds: what the machine itself does to all that run on it.
type probe struct {
	late []lateness
	stop chan struct{}
	done chan struct{}
}

type lateness struct {
	at int64 // CLOCK_MONOTONIC ns, when it ran again
	by time.Duration
}

const (
	probeEvery = 10 * time.Millisecond
	probeNotes = 20 * time.Millisecond // what is less is not noted
)

func newProbe() *probe {
	p := &probe{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for last := clock.Now(); ; {
			select {
			case <-p.stop:
				return
			case <-time.After(probeEvery):
			}
			now := clock.Now()
			if by := time.Duration(now-last) - probeEvery; by > probeNotes {
				p.late = append(p.late, lateness{now, by})
			}
			last = now
		}
	}()
	return p
}

// close ends the measurement; only then it may be read.
func (p *probe) close() {
	close(p.stop)
	<-p.done
}

// between is the sum of what ran late from one moment to another.
func (p *probe) between(from, to int64) (sum time.Duration) {
	for _, l := range p.late {
		if l.at >= from && l.at-int64(l.by) <= to {
			sum += l.by
		}
	}
	return sum
}

// Package telemetry counts what one process does and shows it as a NATS service.
package telemetry

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"facetrack/internal/latency"
	"facetrack/ipc"
)

// Recorder collects the numbers of one process. It is safe for concurrent use.
type Recorder struct {
	stage   string
	started time.Time

	mu      sync.Mutex
	backend string
	because string
	model   string
	chosen  string // why that model
	slow    func() uint64
	streams func() Streams
	gpus    func() []GPU
	hosts   func() []ipc.Host
	names   []string // of the cameras that the process was started for
	cameras map[string]*camera

	configuration Configuration
}

type camera struct {
	mu            sync.Mutex // its own: whoever asks for statistics holds up no frame of the others
	frames, faces uint64
	dropped       map[string]uint64
	link          func() Link
	ring          func() any
	state         string
	work, age     *latency.Histogram
	recent        latency.Recent // ages
}

// Link says how the pixels of a camera reach this process, and why that way.
type Link struct {
	Transport string    `json:"transport"`
	Reason    string    `json:"reason"`
	Sync      string    `json:"sync,omitempty"`     // device memory: how uploads are waited for, "events" or "memops"
	GPU       string    `json:"gpu_uuid,omitempty"` // device memory: the GPU that reads it
	Attempts  []Attempt `json:"attempts,omitempty"`
	Reattach  uint64    `json:"reattaches"`
}

// String is as "cuda-ipc, events, GPU-… (the fastest transport)".
func (l Link) String() string {
	how := []string{cmp.Or(l.Transport, "none")}
	for _, more := range []string{l.Sync, l.GPU} {
		if more != "" {
			how = append(how, more)
		}
	}
	return fmt.Sprintf("%s (%s)", strings.Join(how, ", "), l.Reason)
}

// Attempt is one transport that was tried before and why it was not taken.
type Attempt struct {
	Transport string `json:"transport"`
	Reason    string `json:"reason"`
}

// Stats is a snapshot, as in the data field of the NATS service's statistics.
type Stats struct {
	Stage   string  `json:"stage"`
	PID     int     `json:"pid"`
	UptimeS float64 `json:"uptime_s"`
	Process
	Backend string                 `json:"backend,omitempty"`
	Because string                 `json:"backend_reason,omitempty"` // why that backend and no faster one
	Model   string                 `json:"model,omitempty"`
	Chosen  string                 `json:"model_reason,omitempty"` // why that model, where nobody named it
	Config  Configuration          `json:"configuration"`
	Slow    uint64                 `json:"slow_consumer"` // times that messages were lost because this process read too slowly
	Cameras map[string]CameraStats `json:"cameras"`
	Streams *Streams               `json:"streams,omitempty"` // lsl-out
	GPUs    []GPU                  `json:"gpus,omitempty"`    // of the machine, from stages that may use them
	Hosts   []ipc.Host             `json:"hosts,omitempty"`   // tracker of a hub: the other hosts
}

// Streams are what a process offers to the readers of Lab Streaming Layer.
type Streams struct {
	Open    int    `json:"open"`
	Readers int    `json:"readers"` // subscriptions now
	Lost    uint64 `json:"lost"`    // samples that readers of now were too slow for
}

// CameraStats are the numbers of one camera in one process.
type CameraStats struct {
	State   string              `json:"state,omitempty"` // capture: "running", "lost: …", "ended"
	Frames  uint64              `json:"frames"`          // passed on
	Faces   uint64              `json:"faces"`           // found in them
	Dropped map[string]uint64   `json:"dropped"`         // by reason
	Link    *Link               `json:"link,omitempty"`
	Ring    any                 `json:"ring,omitempty"` // capture: slots, readers, leases
	WorkMS  latency.Percentiles `json:"work_ms"`        // this process's own work on a frame
	AgeMS   latency.Percentiles `json:"age_ms"`         // from the capture instant to this process's message
	Recent  latency.Percentiles `json:"age_recent_ms"`  // the same, of the last 256 frames alone
}

// New returns the recorder of a process that runs stage.
func New(stage string) *Recorder {
	return &Recorder{stage: stage, started: time.Now(), cameras: map[string]*camera{}}
}

func (r *Recorder) with(name string, f func(*camera)) {
	r.mu.Lock()
	c := r.cameras[name]
	if c == nil {
		c = &camera{dropped: map[string]uint64{}, work: latency.New(), age: latency.New()}
		r.cameras[name] = c
	}
	r.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c)
}

// Frame notes one frame passed on: its faces, how long this process worked on it and how old it is now.
func (r *Recorder) Frame(name string, faces int, work, age time.Duration) {
	r.with(name, func(c *camera) {
		c.frames++
		c.faces += uint64(max(faces, 0)) //nolint:gosec // never negative
		c.work.Record(work)
		c.age.Record(age)
		c.recent.Record(age)
	})
}

// Drop notes one frame given up.
func (r *Recorder) Drop(name, reason string) {
	r.with(name, func(c *camera) { c.dropped[reason]++ })
}

// State notes what a camera is doing, for people.
func (r *Recorder) State(name, state string) { r.with(name, func(c *camera) { c.state = state }) }

// Backend notes what runs the networks, and why nothing faster does; "" when there is nothing to say.
func (r *Recorder) Backend(name, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.backend, r.because = name, reason
}

// Model notes which model the networks are from, and why that one; "" when somebody named it.
func (r *Recorder) Model(name, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.model, r.chosen = name, reason
}

// Cameras notes which cameras the process was started for.
func (r *Recorder) Cameras(names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = names
}

func (r *Recorder) given() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.names
}

// SetBus registers where the count of lost messages is read from.
func (r *Recorder) SetBus(slow func() uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slow = slow
}

// SetStreams registers where the state of a process's streams is read from.
func (r *Recorder) SetStreams(f func() Streams) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.streams = f
}

// SetGPUs registers where the state of the machine's GPUs is read from.
func (r *Recorder) SetGPUs(f func() []GPU) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gpus = f
}

// SetHosts registers where the state of other hosts is read from.
func (r *Recorder) SetHosts(f func() []ipc.Host) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hosts = f
}

// SetLink registers where the state of a camera's link is read from.
func (r *Recorder) SetLink(name string, f func() Link) { r.with(name, func(c *camera) { c.link = f }) }

// SetRing registers where the state of a camera's ring is read from.
func (r *Recorder) SetRing(name string, f func() any) { r.with(name, func(c *camera) { c.ring = f }) }

// Snapshot returns the numbers so far.
func (r *Recorder) Snapshot() Stats {
	r.mu.Lock()
	s := Stats{
		Stage: r.stage, PID: os.Getpid(), UptimeS: time.Since(r.started).Seconds(), Backend: r.backend,
		Because: r.because, Model: r.model, Chosen: r.chosen, Config: r.configuration, Process: process(), Cameras: make(map[string]CameraStats, len(r.cameras)),
	}
	slow, streams, gpus, hosts, cameras := r.slow, r.streams, r.gpus, r.hosts, maps.Clone(r.cameras)
	r.mu.Unlock()
	if hosts != nil {
		s.Hosts = hosts()
	}
	if gpus != nil {
		s.GPUs = gpus()
	}
	if streams != nil {
		now := streams()
		s.Streams = &now
	}
	if slow != nil {
		s.Slow = slow()
	}
	for name, c := range cameras {
		s.Cameras[name] = c.stats()
	}
	return s
}

func (c *camera) stats() CameraStats {
	s, link, ring := c.counts()
	if link != nil {
		l := link()
		s.Link = &l
	}
	if ring != nil {
		s.Ring = ring()
	}
	return s
}

func (c *camera) counts() (s CameraStats, link func() Link, ring func() any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return CameraStats{
		State: c.state, Frames: c.frames, Faces: c.faces, Dropped: maps.Clone(c.dropped),
		WorkMS: c.work.Percentiles(), AgeMS: c.age.Percentiles(), Recent: c.recent.Percentiles(),
	}, c.link, c.ring
}

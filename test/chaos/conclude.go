package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"facetrack/internal/app"
	"facetrack/ipc"
)

// Stream is what a stream of the NATS server holds at the end.
type Stream struct {
	Name      string `json:"name"`
	Messages  uint64 `json:"messages"`
	Bytes     uint64 `json:"bytes"`
	Consumers int    `json:"consumers"`
}

// Limits of a stream: 64 revisions of a configuration, eight of each ring's state and of each camera's identities.
const (
	mostMessages  = 512
	mostConsumers = 64
)

// conclude looks at what the rig has left, beside what was seen of it while it ran.
func (s *scene) conclude(f *findings, steps []Step, alive bool, ended error) (*Report, error) {
	for _, left := range s.rig.left() {
		f.violate(0, f.end, "left behind: %s", left)
	}
	lines, err := f.readRecording(s.recording())
	if err != nil {
		f.violate(0, f.end, "the recording: %v", err)
	}
	summary, err := s.rig.summary()
	if err != nil {
		f.violate(4, f.end, "there is no account of the run: %v", err)
	} else {
		f.compareAccounts(summary, lines)
	}
	if recordingFull := summary.Recording != nil && summary.Recording.Error != ""; alive && ended != nil && !recordingFull {
		f.violate(0, f.end, "facetrack up did not end in order: %v", ended)
	}
	streams, err := s.streams()
	if err != nil {
		f.violate(0, f.end, "the NATS server does not tell what it holds: %v", err)
	}
	for _, x := range streams {
		if x.Messages > mostMessages || x.Consumers > mostConsumers {
			f.violate(0, f.end, "stream %s holds %d messages and %d consumers", x.Name, x.Messages, x.Consumers)
		}
	}
	for _, bad := range s.obs.bad {
		f.violate(4, f.begin, "a message cannot be read: %s", bad)
	}
	r := newReport(s.flags, f, steps, summary)
	r.Streams, r.RecordedLines, r.Heard = streams, lines, s.obs.heard
	for _, d := range []*disk{s.store, s.films} {
		if d.small != "" {
			r.NotDone = append(r.NotDone, "disk-full: "+d.small)
		}
	}
	return r, nil
}

// compareAccounts holds what the rig says of its frames against what was heard of them here.
func (f *findings) compareAccounts(s app.Summary, lines int) {
	for _, camera := range slices.Sorted(maps.Keys(s.Cameras)) {
		theirs, mine := s.Cameras[camera], f.measured.Cameras[camera]
		if theirs.Captured != theirs.Tracked+theirs.TotalDropped() || theirs.Open != 0 {
			f.violate(4, f.end, "%s: captured %d ≠ tracked %d + dropped %v (open %d)", camera, theirs.Captured, theirs.Tracked, theirs.Dropped, theirs.Open)
		}
		if int(theirs.Captured) != mine.Captured {
			f.violate(4, f.end, "%s: the rig counts %d captured frames, their numbers say %d", camera, theirs.Captured, mine.Captured)
		}
		unheard := f.unheard(camera)
		if d := int(theirs.Tracked) - mine.Tracked; d > unheard || -d > unheard {
			f.violate(4, f.end, "%s: the rig counts %d tracked frames, %d were heard here; %d had their end while the bus was disturbed",
				camera, theirs.Tracked, mine.Tracked, unheard)
		}
	}
	if r := s.Recording; r != nil && int(r.Lines) != lines {
		f.violate(4, f.end, "the recording has %d lines, the rig says %d", lines, r.Lines)
	}
}

// unheard is how many frames had their end while one of the two who count may have been without a connection.
func (f *findings) unheard(camera string) (n int) {
	for _, e := range f.cameras[camera] {
		at := max(e.stamps.Tracks, e.stamps.Landmarks, e.stamps.Detect, e.stamps.Capture, e.captured)
		if at == 0 || f.during(at, at+int64(time.Second), settle, (*Event).bus) {
			n++
		}
	}
	return n
}

// readRecording checks that the file holds whole lines, each frame once, and counts them.
func (f *findings) readRecording(path string) (lines int, err error) {
	file, err := os.Open(path) //nolint:gosec // of this run
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	type key struct {
		camera string
		seq    uint64
	}
	seen := map[key]bool{}
	scan := bufio.NewScanner(file)
	scan.Buffer(nil, 16<<20)
	for ; scan.Scan(); lines++ {
		m, err := ipc.DecodeTracks(scan.Bytes())
		if err != nil {
			return lines, fmt.Errorf("line %d: %w", lines+1, err)
		}
		k := key{m.Camera, m.Seq}
		if seen[k] {
			f.violate(4, m.CaptureNS, "%s frame %d was recorded twice", m.Camera, m.Seq)
		}
		seen[k] = true
	}
	return lines, scan.Err()
}

// streams asks the NATS server what it holds.
func (s *scene) streams() (all []Stream, err error) {
	nc, err := nats.Connect(s.rig.direct)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	list := js.ListStreams(ctx)
	for info := range list.Info() {
		all = append(all, Stream{info.Config.Name, info.State.Msgs, info.State.Bytes, info.State.Consumers})
	}
	return all, list.Err()
}

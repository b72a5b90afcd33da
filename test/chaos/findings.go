package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"facetrack/internal/stage"
)

// Limits of what counts as kept.
const (
	tornPx      = 3.0                    // a face that lies further from where its frame has it, on the way to where it will be, is of a later frame
	captureLate = 250 * time.Millisecond // of a frame that was due until it is announced
	othersQuiet = time.Second            // of a stage that nothing was done to
	slotsBack   = time.Second            // of a dead reader
	backInFlow  = 2 * time.Second        // of a killed process
	lookBack    = time.Second            // frames that were captured so long before a cause may still have been on their way
	notices     = time.Second            // until they come after a reconnection
	settle      = 4 * time.Second        // until who counts has heard everything after one
	linksBack   = 10 * time.Second       // to the best transport, after the last cause
)

// Violation is a promise that was broken.
type Violation struct {
	Invariant int     `json:"invariant"` // of ARCHITECTURE.md; 0: a leak, or an end out of order
	AtS       float64 `json:"at_s"`      // since the rig was at rest
	What      string  `json:"what"`
	After     string  `json:"after,omitempty"` // the causes before it
}

// findings judges a run by what was seen of it.
type findings struct {
	begin    int64 // CLOCK_MONOTONIC ns, when the steps began
	end      int64 // when the rig was at rest again
	events   []*Event
	cameras  map[string]map[uint64]*frame
	samples  []sample
	probe    *probe
	broken   []Violation
	omitted  int
	measured Measured
}

// maxViolations is how many are written out.
const maxViolations = 200

func (f *findings) violate(invariant int, at int64, format string, args ...any) {
	if len(f.broken) >= maxViolations {
		f.omitted++
		return
	}
	f.broken = append(f.broken, Violation{
		Invariant: invariant, AtS: seconds(at - f.begin), What: fmt.Sprintf(format, args...), After: f.causesBefore(at),
	})
}

// causesBefore names what was done in the ten seconds before a moment.
func (f *findings) causesBefore(at int64) string {
	var names []string
	for _, e := range f.events {
		if e.From <= at && at-e.To < int64(10*time.Second) {
			names = append(names, fmt.Sprintf("%s at %.1f s", e.name(), seconds(e.From-f.begin)))
		}
	}
	return strings.Join(names, ", ")
}

func (e *Event) name() string {
	name := string(e.Kind)
	if len(e.Targets) > 0 {
		name += " " + strings.Join(e.Targets, "+")
	}
	if e.For > 0 {
		name += " for " + e.For.String()
	}
	return name
}

// during tells whether a cause of those kinds was there from one moment to another, or within grace before.
func (f *findings) during(from, to int64, grace time.Duration, is func(*Event) bool) bool {
	return slices.ContainsFunc(f.events, func(e *Event) bool {
		return is(e) && from <= e.To+int64(grace) && to >= e.From
	})
}

// hits tells whether a process was killed or stopped.
func (e *Event) hits(name string) bool {
	return (e.ends() || e.Kind == Stop) && slices.Contains(e.Targets, name)
}

// ends tells whether processes ended.
func (e *Event) ends() bool {
	return e.Kind == Kill || e.Kind == KillAway || e.Kind == Twice || e.Kind == Term
}

// ended tells whether that process did.
func (e *Event) ended(pid int) bool {
	if !e.ends() {
		return false
	}
	for _, p := range e.PIDs {
		if p == pid {
			return true
		}
	}
	return slices.Contains(e.Before, pid)
}

// bus tells whether the connections were disturbed.
func (e *Event) bus() bool {
	return slices.Contains([]Kind{KillAway, BusKill, BusStop, BusCut, BusReset, BusStall, DiskFull}, e.Kind)
}

// loses tells whether frames of a camera may vanish without a notice: their process died or stood still, or the message was not carried.
func (e *Event) loses(camera string) bool {
	if e.Kind == CameraAway {
		return slices.Contains(e.Targets, camera)
	}
	return e.bus() || slices.ContainsFunc(stage.Names[:4], e.hits)
}

// excused tells whether a frame of that moment may have vanished with a cause: from a little before it until the flow was back, and
// notices were on their way again.
func (f *findings) excused(camera string, at int64) bool {
	return slices.ContainsFunc(f.events, func(e *Event) bool {
		return e.loses(camera) && at >= e.From-int64(lookBack) && at <= e.To+e.back+int64(notices)
	})
}

// markAlone finds the events whose recovery nothing else disturbs: none in the two seconds before, and none in the three after.
func (f *findings) markAlone() {
	for i, e := range f.events {
		e.Alone = (i == 0 || e.From-f.events[i-1].To > int64(2*time.Second)) &&
			(i+1 == len(f.events) || f.events[i+1].From-e.To > int64(3*time.Second)) && len(e.Targets) < 2
	}
}

// sorted are the frames of a camera by number; the numbers between, of which nothing was heard, are left out.
func sorted(frames map[uint64]*frame) []uint64 { return slices.Sorted(maps.Keys(frames)) }

func (f *findings) judge() {
	f.markAlone()
	f.measured = newMeasured()
	f.judgeRecovery()
	for _, camera := range slices.Sorted(maps.Keys(f.cameras)) {
		frames := f.cameras[camera]
		numbers := sorted(frames)
		f.judgePlaces(camera, frames, numbers)
		f.judgeCapture(camera, frames, numbers)
		f.judgeFates(camera, frames, numbers)
		f.judgeRings(camera, frames, numbers)
		f.identities(camera, frames, numbers)
	}
	f.judgeOthers()
	f.judgeProcesses()
	f.judgeSlots()
	f.judgeLinks()
	f.judgeLeaks()
}

// judgePlaces: results are of their own frames.
func (f *findings) judgePlaces(camera string, frames map[uint64]*frame, numbers []uint64) {
	for _, n := range numbers {
		e := frames[n]
		if !e.tracked || e.faces == 0 || camera == netCamera {
			continue
		}
		f.measured.Off.add(e.off)
		if e.later && e.off > tornPx {
			f.violate(1, e.captured, "%s frame %d: the face is %.1f px from where the frame has it, where later frames have it", camera, n, e.off)
		}
	}
}

// judgeCapture: frames are announced when they are due, whatever the others do.
func (f *findings) judgeCapture(camera string, frames map[uint64]*frame, numbers []uint64) {
	const period = int64(time.Second / clipRate)
	mine := func(e *Event) bool {
		return e.hits(stage.Capture) || e.Kind == CameraAway && slices.Contains(e.Targets, camera) ||
			camera == netCamera && (e.Kind == CameraCut || e.Kind == CameraHang)
	}
	var last *frame
	var lastNumber uint64
	for _, n := range numbers {
		e := frames[n]
		if e.captured == 0 {
			continue
		}
		before, beforeNumber := last, lastNumber
		last, lastNumber = e, n
		if e.stamps.Capture == 0 || f.during(e.captured, e.stamps.Capture, 3*time.Second, mine) {
			continue
		}
		starved := f.during(e.captured, e.stamps.Capture, time.Second, func(e *Event) bool { return e.Kind == Starve })
		late := time.Duration(e.stamps.Capture - e.captured)
		f.measured.CaptureLate.add(late.Seconds() * 1e3)
		slack := captureLate
		if late > slack {
			slack += f.denied(stage.Capture, e.captured, e.stamps.Capture)
		}
		if late > slack && !starved {
			f.violate(2, e.captured, "%s frame %d was announced %v after it was due", camera, n, late.Round(time.Millisecond))
		}
		if before == nil || camera == netCamera || f.during(before.captured, e.captured, 3*time.Second, mine) {
			continue
		}
		gap := e.captured - before.captured - int64(n-beforeNumber)*period
		if gap > int64(captureLate) && gap > int64(captureLate+f.denied(stage.Capture, before.captured, e.captured)) && !starved {
			f.violate(2, e.captured, "%s stood still for %v before frame %d", camera, time.Duration(gap).Round(time.Millisecond), n)
		}
	}
}

// judgeFates: every number has one frame, which was tracked or dropped with a reason.
func (f *findings) judgeFates(camera string, frames map[uint64]*frame, numbers []uint64) {
	if len(numbers) == 0 {
		f.violate(4, f.begin, "%s gave no frame", camera)
		return
	}
	c := CameraFates{Dropped: map[string]int{}}
	at := f.begin
	for n := numbers[0]; n <= numbers[len(numbers)-1]; n++ {
		e := frames[n]
		if e == nil {
			e = &frame{}
		}
		if e.captured != 0 {
			at = e.captured
		}
		c.Captured++
		switch {
		case e.tracked:
			c.Tracked++
		case e.drop != "":
			c.Dropped[e.drop]++
		default:
			c.Silent++
			if !f.excused(camera, at) {
				f.violate(4, at, "%s frame %d: neither tracked nor dropped, and nothing had died; it was heard of up to %s", camera, n, reached(e.stamps))
			}
		}
		if e.twice {
			f.violate(4, at, "%s: two frames have number %d", camera, n)
		}
		if e.trackedTwo {
			f.violate(4, at, "%s frame %d was tracked twice", camera, n)
		}
		if e.tracked && e.drop != "" {
			c.Both++
		}
	}
	f.measured.Cameras[camera] = c
}

// judgeRings: numbers go up with time, and a ring that has been followed by another gives no frame any more.
func (f *findings) judgeRings(camera string, frames map[uint64]*frame, numbers []uint64) {
	var order []string
	var last int64
	for _, n := range numbers {
		e := frames[n]
		if e.captured == 0 || e.ring == "" {
			continue
		}
		if e.captured < last {
			f.violate(4, e.captured, "%s frame %d was captured before the one before it", camera, n)
		}
		last = e.captured
		if len(order) > 0 && order[len(order)-1] == e.ring {
			continue
		}
		if slices.Contains(order, e.ring) {
			f.violate(3, e.captured, "%s frame %d is of ring %s, which others have followed", camera, n, e.ring)
		}
		order = append(order, e.ring)
	}
	f.measured.Rings[camera] = len(order)
}

// identities notes when the one face of a camera got another number. That is no promise: a face that nobody saw for a while, or that has
// jumped, may be somebody else.
func (f *findings) identities(camera string, frames map[uint64]*frame, numbers []uint64) {
	last := 0
	for _, n := range numbers {
		e := frames[n]
		if e.id == 0 || e.id == last {
			continue
		}
		if last != 0 {
			f.measured.Identities = append(f.measured.Identities, Identity{
				Camera: camera, AtS: seconds(e.captured - f.begin), From: last, To: e.id, After: f.causesBefore(e.captured),
			})
		}
		last = e.id
	}
}

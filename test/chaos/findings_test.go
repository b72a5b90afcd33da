package main

import (
	"strings"
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

const second = int64(time.Second)

// run30 is what a rig without a fault shows in thirty seconds: frames of a camera, ten a second, each tracked 20 ms later.
func run30() *findings {
	f := &findings{begin: second, end: 31 * second, probe: &probe{}, cameras: map[string]map[uint64]*frame{"cam0": {}}}
	for n := range uint64(300) {
		at := second + int64(n)*second/10
		f.cameras["cam0"][n] = &frame{
			captured: at, ring: "r/cam0/1", tracked: true, faces: 1, off: 0.2,
			stamps: ipc.Stamps{Capture: at + 1e6, Detect: at + 5e6, Landmarks: at + 15e6, Tracks: at + 20e6},
		}
	}
	costs := map[string]Figures{stage.Detect: {PID: 11, Files: 10, Threads: 8, Goroutines: 30, RSSKiB: 50 << 10}}
	for at := int64(0); at < 35*second; at += second / 4 {
		link := &telemetry.Link{Transport: "shm", Reason: "the fastest"}
		x := sample{at: at, pids: map[string]int{stage.Detect: 11}, costs: map[string]Figures{}, rings: map[string]ringSample{}}
		x.stages = map[string]telemetry.Stats{stage.Detect: {Cameras: map[string]telemetry.CameraStats{"cam0": {Link: link}}}}
		for name, c := range costs {
			c.AtNS = at
			x.costs[name] = c
		}
		f.samples = append(f.samples, x)
	}
	return f
}

func TestNothingIsFoundWhereNothingIs(t *testing.T) {
	f := run30()
	f.judge()
	if len(f.broken) > 0 {
		t.Errorf("%+v", f.broken)
	}
	if c := f.measured.Cameras["cam0"]; c.Captured != 300 || c.Tracked != 300 {
		t.Errorf("%+v", c)
	}
}

// Every promise that is broken is found.
func TestBrokenPromisesAreFound(t *testing.T) {
	kill := func(name string) *Event {
		return &Event{Step: Step{Kind: Kill, Targets: []string{name}}, From: 10 * second, To: 10 * second, PIDs: map[string]int{name: 11}}
	}
	for _, x := range []struct {
		name      string
		invariant int
		spoil     func(*findings)
		what      string
	}{
		{"a face of another frame", 1, func(f *findings) { f.cameras["cam0"][50].off, f.cameras["cam0"][50].later = 12, true }, "where later frames have it"},
		{"a late frame", 2, func(f *findings) { f.cameras["cam0"][50].stamps.Capture += second / 2 }, "after it was due"},
		{"capture stands still", 2, func(f *findings) {
			for n := uint64(100); n < 300; n++ {
				x := f.cameras["cam0"][n]
				for _, at := range []*int64{&x.captured, &x.stamps.Capture, &x.stamps.Detect, &x.stamps.Landmarks, &x.stamps.Tracks} {
					*at += second
				}
			}
		}, "stood still"},
		{"slow recovery", 3, func(f *findings) {
			f.events = []*Event{kill(stage.Tracker)}
			for n := uint64(90); n < 115; n++ {
				f.cameras["cam0"][n].tracked, f.cameras["cam0"][n].drop = false, "tracker:bus"
			}
		}, "back in the flow after 2.5"},
		{"others stop, too", 3, func(f *findings) {
			f.events = []*Event{kill(stage.Tracker)}
			for n := uint64(90); n < 105; n++ {
				f.cameras["cam0"][n].stamps.Detect = 0
			}
		}, "detect was silent"},
		{"no recovery", 3, func(f *findings) {
			f.events = []*Event{kill(stage.Tracker)}
			for n := uint64(90); n < 300; n++ {
				f.cameras["cam0"][n].tracked, f.cameras["cam0"][n].drop = false, "tracker:bus"
			}
		}, "before the end"},
		{"an old ring", 3, func(f *findings) { f.cameras["cam0"][50].ring = "r/cam0/2" }, "others have followed"},
		{"a restart without a kill", 3, func(f *findings) { f.samples[70].pids[stage.Detect] = 12 }, "nobody had killed it"},
		{"slots of the dead", 3, func(f *findings) {
			f.events = []*Event{kill(stage.Detect)}
			f.samples[60].rings["cam0"] = ringSample{Stats: gpuring.Stats{Readers: []gpuring.ReaderInfo{{Identity: "detect", PID: 11, Held: 1}}}}
		}, "still holds 1 slots"},
		{"a silent loss", 4, func(f *findings) { f.cameras["cam0"][50].tracked = false }, "neither tracked nor dropped"},
		{"a number that is missing", 4, func(f *findings) { delete(f.cameras["cam0"], 50) }, "neither tracked nor dropped"},
		{"a number that comes twice", 4, func(f *findings) { f.cameras["cam0"][50].twice = true }, "two frames have number 50"},
		{"tracked twice", 4, func(f *findings) { f.cameras["cam0"][50].trackedTwo = true }, "tracked twice"},
		{"time goes back", 4, func(f *findings) { f.cameras["cam0"][50].captured -= second * 3 / 20 }, "before the one before"},
		{"a link without a reason", 5, func(f *findings) { linkOf(f, 60).Reason = "" }, "does not say why"},
		{"a link that stays slow", 5, func(f *findings) {
			for i := 60; i < len(f.samples); i++ {
				linkOf(f, i).Transport = "copy"
			}
		}, `by "copy" for 10`},
		{"open files", 0, func(f *findings) { hold(f, func(x *Figures) { x.Files += 20 }) }, "open files"},
		{"goroutines", 0, func(f *findings) { hold(f, func(x *Figures) { x.Goroutines += 20 }) }, "goroutines"},
		{"memory", 0, func(f *findings) { hold(f, func(x *Figures) { x.RSSKiB += 100 << 10 }) }, "KiB"},
		{"a process that is gone", 0, func(f *findings) {
			for i := range f.samples {
				if f.samples[i].at >= f.end {
					f.samples[i].costs = nil
				}
			}
		}, "does not run"},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := run30()
			x.spoil(f)
			f.judge()
			if len(f.broken) == 0 {
				t.Fatal("not found")
			}
			for _, v := range f.broken {
				if v.Invariant != x.invariant || !strings.Contains(v.What, x.what) {
					t.Errorf("found: invariant %d, %s", v.Invariant, v.What)
				}
			}
		})
	}
}

func linkOf(f *findings, i int) *telemetry.Link {
	return f.samples[i].stages[stage.Detect].Cameras["cam0"].Link
}

// hold changes what a process holds after the run.
func hold(f *findings, change func(*Figures)) {
	for _, s := range f.samples {
		if x := s.costs[stage.Detect]; s.at >= f.end {
			change(&x)
			s.costs[stage.Detect] = x
		}
	}
}

// Frames may vanish with a process that held them and died, and then alone.
func TestLossIsExcusedByADeath(t *testing.T) {
	for _, x := range []struct {
		stage   string
		frame   uint64
		excused bool
	}{{stage.Detect, 89, true}, {stage.Detect, 99, true}, {stage.Detect, 75, false}, {stage.Detect, 120, false}, {stage.LSLOut, 89, false}, {parentStage, 89, false}} {
		f := run30()
		f.events = []*Event{{Step: Step{Kind: Kill, Targets: []string{x.stage}}, From: 10 * second, To: 10 * second, Back: 10*second + 1}}
		f.cameras["cam0"][x.frame].tracked = false
		f.judge()
		if excused := len(f.broken) == 0; excused != x.excused || f.measured.Cameras["cam0"].Silent != 1 {
			t.Errorf("%s dies, frame %d: %+v", x.stage, x.frame, f.broken)
		}
	}
}

func TestValues(t *testing.T) {
	v := &Values{}
	for i := range 100 {
		v.add(float64(100 - i))
	}
	if v.at(50) != 50 || v.at(99) != 99 || v.at(100) != 100 || (&Values{}).at(50) != 0 {
		t.Errorf("%v %v %v", v.at(50), v.at(99), v.at(100))
	}
}

// A frame is late because the machine let others run: that is no fault of the rig's.
func TestDeniedCPUIsNoFault(t *testing.T) {
	for _, x := range []struct {
		denied time.Duration
		broken int
	}{{time.Second, 0}, {10 * time.Millisecond, 1}} {
		f := run30()
		f.cameras["cam0"][50].stamps.Capture += second / 2
		at := f.cameras["cam0"][50].captured
		for _, s := range f.samples {
			c := Figures{AtNS: s.at, PID: 10}
			if s.at > at {
				c.waited = x.denied
			}
			s.costs[stage.Capture] = c
		}
		f.judge()
		if len(f.broken) != x.broken {
			t.Errorf("denied %v: %+v", x.denied, f.broken)
		}
		if d := f.denied(stage.Capture, at, at+second/2); d != x.denied {
			t.Errorf("denied %v, want %v", d, x.denied)
		}
		if d := f.denied(stage.Capture, at-5*second, at-4*second); d != 0 {
			t.Errorf("denied %v before", d)
		}
	}
}

package main

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"facetrack/internal/stage"
)

// judgeRecovery measures how long it took after each cause until frames that were captured after it came out at the far end.
func (f *findings) judgeRecovery() {
	for _, e := range f.events {
		if e.Failed != "" {
			continue
		}
		all, first := f.recovered(e)
		e.back = max(all, 0)
		key := string(e.Kind)
		if e.ends() || e.Kind == Stop {
			key += " " + e.Targets[0]
		}
		if len(e.Targets) == 2 {
			key = string(Kill) + " of two"
		}
		r := Recovery{AtS: seconds(e.From - f.begin), Alone: e.Alone, FirstMS: ms(first), AllMS: ms(all), DeniedMS: ms(int64(f.deniedTo(e, all)))}
		f.measured.Recovery[key] = append(f.measured.Recovery[key], r)
		if net := f.tracked(netCamera, e.To); e.hits(stage.Capture) && net >= 0 {
			key += ": the network camera"
			f.measured.Recovery[key] = append(f.measured.Recovery[key], Recovery{AtS: r.AtS, Alone: e.Alone, FirstMS: ms(net), AllMS: ms(net), DeniedMS: r.DeniedMS})
		}
		starved := f.during(e.From, e.To+int64(backInFlow), time.Second, func(e *Event) bool { return e.Kind == Starve })
		switch {
		case all < 0:
			f.violate(3, e.To, "%s: not all cameras came back before the end", e.name())
		case (e.Kind == Kill || e.Kind == KillAway) && e.Alone && !starved && time.Duration(all) > backInFlow+f.deniedTo(e, all):
			f.violate(3, e.To, "%s: back in the flow after %v", e.name(), time.Duration(all).Round(time.Millisecond))
		}
	}
}

// deniedTo is for how long the targets of a step, or this program, were not let run while the flow came back.
func (f *findings) deniedTo(e *Event, all int64) (most time.Duration) {
	if all < 0 {
		return 0
	}
	most = f.probe.between(e.To, e.To+all)
	for _, name := range e.Targets {
		most = max(most, f.denied(name, e.To, e.To+all))
	}
	return most
}

// recovered is how long after an event's cause was gone the first camera and the last one had a frame tracked that was captured later;
// -1 if one never had. For lsl-out, whose work is not heard, it is what its statistics say. The network camera counts in its own troubles
// alone: when capture is started again, a decoder looks at its stream for a while.
func (f *findings) recovered(e *Event) (all, first int64) {
	if slices.Equal(e.Targets, []string{stage.LSLOut}) && e.ends() {
		if e.Back == 0 {
			return -1, -1
		}
		return e.Back - e.To, e.Back - e.To
	}
	if e.Kind == CameraCut || e.Kind == CameraHang {
		back := f.tracked(netCamera, e.To)
		return back, back
	}
	first = -1
	for camera := range f.cameras {
		if camera == netCamera {
			continue
		}
		back := f.tracked(camera, e.To)
		if back < 0 {
			return -1, first
		}
		all = max(all, back)
		if first < 0 || back < first {
			first = back
		}
	}
	return all, first
}

// tracked is how long after a moment a camera had a frame tracked that was captured after it; -1 if never.
func (f *findings) tracked(camera string, after int64) int64 {
	back := int64(-1)
	for _, x := range f.cameras[camera] {
		if x.tracked && x.captured > after && (back < 0 || x.stamps.Tracks-after < back) {
			back = x.stamps.Tracks - after
		}
	}
	return back
}

// upstream are the stages whose work does not depend on one: they go on when it dies. lsl-out is behind all of them.
func upstream(name string) []string {
	i := slices.Index(stage.Names, name)
	return stage.Names[:max(i, 0)]
}

// judgeOthers: nobody else stops when a process dies or stands still.
func (f *findings) judgeOthers() {
	times := map[string][]int64{}
	for camera, frames := range f.cameras {
		if camera == netCamera {
			continue
		}
		for _, x := range frames {
			for name, at := range map[string]int64{
				stage.Capture: x.stamps.Capture, stage.Detect: x.stamps.Detect, stage.Landmarks: x.stamps.Landmarks, stage.Tracker: x.stamps.Tracks,
			} {
				if at != 0 {
					times[name] = append(times[name], at)
				}
			}
		}
	}
	for _, all := range times {
		slices.Sort(all)
	}
	for _, e := range f.events {
		if !e.ends() && e.Kind != Stop || e.bus() || !e.Alone || e.Failed != "" || f.during(e.From, e.To, time.Second, func(e *Event) bool { return e.Kind == Starve }) {
			continue
		}
		others := upstream(e.Targets[0])
		if e.Targets[0] == parentStage || e.Targets[0] == witnessProcess {
			others = stage.Names[:4]
		}
		for _, name := range others {
			from, to := e.From, e.To+int64(backInFlow)
			quiet := longestGap(times[name], from, to)
			f.measured.OthersQuiet.add(ms(quiet))
			if time.Duration(quiet) > othersQuiet && time.Duration(quiet) > othersQuiet+f.denied(name, from, to) {
				f.violate(3, from, "%s: %s was silent for %v", e.name(), name, time.Duration(quiet).Round(time.Millisecond))
			}
		}
	}
}

// longestGap is the longest time between two of the sorted moments around [from, to].
func longestGap(moments []int64, from, to int64) (gap int64) {
	i, _ := slices.BinarySearch(moments, from)
	last := from
	for ; i < len(moments) && last < to; i++ {
		gap = max(gap, min(moments[i], to)-last)
		last = moments[i]
	}
	return max(gap, to-last)
}

// judgeProcesses: nobody is started again but those who were killed, or came up while there was no server to connect to.
func (f *findings) judgeProcesses() {
	const young = 10 * time.Second
	before, born := map[string]int{}, map[int]int64{}
	for _, s := range f.samples {
		for name, pid := range s.pids {
			was := before[name]
			before[name] = pid
			if was == pid {
				continue
			}
			born[pid] = s.at
			if was == 0 {
				continue
			}
			f.measured.Restarts[name]++
			killed := slices.ContainsFunc(f.events, func(e *Event) bool { return e.ended(was) })
			alone := s.at-born[was] < int64(young) && f.during(born[was]-int64(sampleEvery), s.at, 0, (*Event).bus)
			if !killed && !alone {
				f.violate(3, s.at, "%s was started again although nobody had killed it (process %d, before %d)", name, pid, was)
			}
		}
	}
}

// judgeSlots: what a dead process held is free again within a second.
func (f *findings) judgeSlots() {
	killed := func(pid int) *Event {
		i := slices.IndexFunc(f.events, func(e *Event) bool { return e.Kind == Kill && e.ended(pid) })
		if i < 0 {
			return nil
		}
		return f.events[i]
	}
	for _, s := range f.samples {
		for _, camera := range slices.Sorted(maps.Keys(s.rings)) {
			for _, r := range s.rings[camera].Readers {
				e := killed(r.PID)
				if r.Held == 0 || e == nil || s.at < e.From {
					continue
				}
				held := s.at - e.From
				f.measured.DeadHeldMS = max(f.measured.DeadHeldMS, ms(held))
				if time.Duration(held) > slotsBack+sampleWait+f.denied(stage.Capture, e.From, s.at) {
					f.violate(3, s.at, "%s: %s, dead for %v, still holds %d slots", camera, r.Identity, time.Duration(held).Round(time.Millisecond), r.Held)
				}
			}
		}
	}
}

// judgeLinks: every link says how and why, and ends on the best transport.
func (f *findings) judgeLinks() {
	const best = "shm" // without a GPU
	type link struct{ stage, camera string }
	since := map[link]int64{}
	for _, s := range f.samples {
		for _, name := range pixelStages {
			for _, camera := range slices.Sorted(maps.Keys(s.stages[name].Cameras)) {
				l := s.stages[name].Cameras[camera].Link
				if l == nil {
					continue
				}
				f.measured.Links[cmp.Or(l.Transport, "none")]++
				k := link{name, camera}
				if l.Reason == "" {
					f.violate(5, s.at, "%s does not say why it reads %s by %q", name, camera, l.Transport)
				}
				if l.Transport == best {
					delete(since, k)
					continue
				}
				if since[k] == 0 {
					since[k] = s.at
				}
				f.measured.NotBestS = max(f.measured.NotBestS, seconds(s.at-since[k]))
				calm := max(since[k], f.lastCause(s.at))
				if s.at-calm > int64(linksBack) {
					f.violate(5, s.at, "%s reads %s by %q for %.1f s: %s", name, camera, l.Transport, seconds(s.at-since[k]), l.Reason)
					since[k] = s.at
				}
			}
		}
	}
}

// lastCause is when the last cause before a moment was gone.
func (f *findings) lastCause(at int64) (last int64) {
	for _, e := range f.events {
		if e.From <= at {
			last = max(last, min(e.To, at))
		}
	}
	return last
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }

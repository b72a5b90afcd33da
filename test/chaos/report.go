package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"facetrack/internal/app"
	"facetrack/internal/version"
)

// Report is what a run has shown.
type Report struct {
	Date          time.Time      `json:"date"`
	Commit        string         `json:"commit"` // of the program under test
	Version       string         `json:"version"`
	Machine       Machine        `json:"machine"`
	Seed          uint64         `json:"seed"`
	Seconds       float64        `json:"s"`
	Cameras       string         `json:"cameras"`
	Planned       int            `json:"planned"`
	Done          map[string]int `json:"done"` // steps by kind
	Failed        []string       `json:"failed,omitempty"`
	NotDone       []string       `json:"not_done,omitempty"`
	Violations    []Violation    `json:"violations"`
	Omitted       int            `json:"violations_omitted,omitempty"`
	Measured      Measured       `json:"measured"`
	Streams       []Stream       `json:"nats_streams"`
	RecordedLines int            `json:"recorded_lines"`
	Heard         uint64         `json:"messages_heard"`
	Rig           app.Summary    `json:"rig"` // its own account
	Steps         []*Event       `json:"steps"`
}

// Machine is what the run was done on.
type Machine struct {
	CPUs   int    `json:"cpus"`
	Model  string `json:"model"`
	Kernel string `json:"kernel"`
}

func machine() Machine {
	m := Machine{CPUs: runtime.NumCPU()}
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			m.Model = strings.TrimSpace(value)
			break
		}
	}
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	m.Kernel = strings.TrimSpace(string(release))
	return m
}

func newReport(flags *Flags, f *findings, steps []Step, s app.Summary) *Report {
	r := &Report{
		Date: time.Now().UTC().Truncate(time.Second), Commit: cmp.Or(s.Commit, version.Commit()), Version: version.SemVer, Machine: machine(), Seed: flags.Seed,
		Seconds: math.Round(seconds(f.end - f.begin)), Planned: len(steps), Done: map[string]int{}, Violations: f.broken, Omitted: f.omitted,
		Measured: f.measured, Rig: s, Steps: f.events,
		Cameras: fmt.Sprintf("%d looped clips and a network camera, %d×%d, %d frames/s each", fileCameras, clipWidth, clipHeight, clipRate),
	}
	for _, l := range f.probe.late {
		r.Measured.ProbeLateMS.add(ms(int64(l.by)))
	}
	for _, e := range f.events {
		r.Done[string(e.Kind)]++
		if e.Failed != "" {
			r.Failed = append(r.Failed, fmt.Sprintf("%s at %.1f s: %s", e.name(), e.At.Seconds(), e.Failed))
		}
		e.From, e.To = e.From-f.begin, e.To-f.begin
		if e.Back != 0 {
			e.Back -= f.begin
		}
	}
	return r
}

func (r *Report) write(jsonFile, markdownFile string) error {
	if jsonFile != "" {
		data, err := json.MarshalIndent(r, "", " ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(jsonFile, append(data, '\n'), 0o644); err != nil { //nolint:gosec // for everybody to read
			return err
		}
	}
	if markdownFile == "" {
		return nil
	}
	return os.WriteFile(markdownFile, []byte(r.markdown()), 0o644) //nolint:gosec // for everybody to read
}

// markdown is the report for people.
func (r *Report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What a rig does while things go wrong\n\nWritten by `make chaos`. %s, facetrack %s (%s), seed %d, %.0f s, on %d CPUs of %s, Linux %s.\n%s.\n\n",
		r.Date.Format("2006-01-02 15:04"), r.Version, r.Commit, r.Seed, r.Seconds, r.Machine.CPUs, r.Machine.Model, r.Machine.Kernel, r.Cameras)
	r.verdict(&b)
	rules(&b)
	r.steps(&b)
	r.recovery(&b)
	r.figures(&b)
	r.frames(&b)
	r.identities(&b)
	r.leaks(&b)
	return b.String()
}

// rules says what counts as a broken promise.
func rules(b *strings.Builder) {
	fmt.Fprintf(b, `## How it is judged

A program beside the rig listens to the NATS server past the proxy that it cuts, reads /proc and /dev/shm and asks the services. A broken promise is, by the invariants of
[ARCHITECTURE.md](../ARCHITECTURE.md):

1. a tracked face more than %.0f px from where its own frame has it, where later frames have it: clips show a face whose place is known for every frame, nothing is smoothed, and what is
   written into a slot while it is read is of a later frame. (A face that has moved half out of the region where it was seen last, when frames between are lost, is found too near to there: those are behind.) Or a frame
   whose number, in its pixels, is not that of its message, although the lease of the witness said that it was whole: that is a process that reads as detection and landmarks do, holds each frame for up to %v, and
   is killed and stopped like them;
2. a frame announced more than %v after it was due, or a camera that stands still, unless capture itself was killed or stopped;
3. after a kill: a camera that is back after more than %v (if nothing else was wrong shortly before or after), a stage before the killed or stopped one that is silent for
   more than %v, slots that the dead hold for longer than %v, a process that is started again although nobody killed it, a frame of a ring that another has followed;
4. a frame that is neither tracked nor told as dropped although nothing died, stood still or was cut off (what counts is from %v before that until %v after the flow was back), a number that two frames have, a frame tracked or recorded twice, an account of the rig's
   own that does not add up or that differs from what was heard by more than was said while the bus was disturbed;
5. a link without a reason, or not on the best transport for more than %v after the last cause;
0. what is left behind: files in /dev/shm, processes, %d more open files, %d more goroutines, half as much memory again and %d MiB; an end out of order.

Where the machine did not let the process in question run that was ready to (the kernel counts that for each thread), or not the program that judges, that time is added to what is allowed; while CPUs are
taken away on purpose, times of 2 and 3 are not judged, but are in the figures. A stage whose server goes away while it starts may end and be started again: that is no broken promise. After a full disk the NATS server is started again, as its operator has to: a stream that
once could not be written takes nothing until then.

`, tornPx, longestLook, captureLate, backInFlow, othersQuiet, slotsBack, lookBack, notices, linksBack, moreFiles, moreGoroutines, moreMemory>>10)
}

func (r *Report) verdict(b *strings.Builder) {
	fmt.Fprintf(b, "**%d promises broken.**\n\n", len(r.Violations)+r.Omitted)
	for _, v := range r.Violations {
		fmt.Fprintf(b, "- invariant %d, %.1f s: %s", v.Invariant, v.AtS, v.What)
		if v.After != "" {
			fmt.Fprintf(b, " (after %s)", v.After)
		}
		b.WriteString("\n")
	}
	if r.Omitted > 0 {
		fmt.Fprintf(b, "- and %d more\n", r.Omitted)
	}
	for _, s := range slices.Concat(r.Failed, r.NotDone) {
		fmt.Fprintf(b, "- not done: %s\n", s)
	}
	b.WriteString("\n")
}

func (r *Report) steps(b *strings.Builder) {
	fmt.Fprintf(b, "## What was done\n\n%d of %d planned steps: ", len(r.Steps), r.Planned)
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(r.Done)) {
		parts = append(parts, fmt.Sprintf("%s %d", kind, r.Done[kind]))
	}
	fmt.Fprintf(b, "%s.\n\n", strings.Join(parts, ", "))
}

func (r *Report) recovery(b *strings.Builder) {
	b.WriteString("## Back in the flow\n\nMilliseconds from when the cause was gone (a killed process: from the kill) until every camera that plays a clip had a frame tracked\n" +
		"that was captured later; for `lsl-out`, until its statistics show frames; for the network camera's own troubles, that camera. *Alone*: nothing else was wrong shortly before and after.\n\n" +
		"| after | alone: n | p50 | p99 | max | all: n | p50 | p99 | max |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, key := range slices.Sorted(maps.Keys(r.Measured.Recovery)) {
		a, all := r.Measured.Recovery[key].values(true), r.Measured.Recovery[key].values(false)
		fmt.Fprintf(b, "| %s | %s | %s |\n", key, row(a), row(all))
	}
	b.WriteString("\n")
}

func row(v *Values) string {
	if len(v.all) == 0 {
		return "0 | | | "
	}
	return fmt.Sprintf("%d | %.0f | %.0f | %.0f", len(v.all), v.at(50), v.at(99), v.at(100))
}

func (r *Report) figures(b *strings.Builder) {
	m := r.Measured
	b.WriteString("## Figures behind the invariants\n\n| figure | n | p50 | p99 | max |\n|---|---|---|---|---|\n")
	for _, x := range []struct {
		name   string
		values *Values
		format string
	}{
		{"a tracked face from where its frame has it, px", m.Off, "%.2f"},
		{"a frame announced after it was due, ms", m.CaptureLate, "%.1f"},
		{"silence of a stage before one that was killed or stopped, ms", m.OthersQuiet, "%.0f"},
		{"a process that wants to run was late, ms (20 and more)", m.ProbeLateMS, "%.0f"},
	} {
		fmt.Fprintf(b, "| %s | %d", x.name, len(x.values.all))
		for _, p := range []float64{50, 99, 100} {
			fmt.Fprintf(b, " | "+x.format, x.values.at(p))
		}
		b.WriteString(" |\n")
	}
	var restarts, links []string
	for _, name := range slices.Sorted(maps.Keys(m.Restarts)) {
		restarts = append(restarts, fmt.Sprintf("%s %d", name, m.Restarts[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(m.Links)) {
		links = append(links, fmt.Sprintf("%s %d", name, m.Links[name]))
	}
	var refused []string
	for _, reason := range slices.Sorted(maps.Keys(m.Witness.Refused)) {
		refused = append(refused, fmt.Sprintf("%s %d", reason, m.Witness.Refused[reason]))
	}
	fmt.Fprintf(b, "\nThe witness read %d whole frames; of others its lease said that they do not count: %s.\n", m.Witness.Checked, cmp.Or(strings.Join(refused, ", "), "none"))
	fmt.Fprintf(b, "\nA dead process was seen to hold slots for %.0f ms at most. Started again: %s. Links, by samples: %s; not on the best transport for %.1f s at most.\n\n",
		m.DeadHeldMS, cmp.Or(strings.Join(restarts, ", "), "none"), strings.Join(links, ", "), m.NotBestS)
}

func (r *Report) frames(b *strings.Builder) {
	b.WriteString("## Every frame\n\nAs heard from outside, and as the rig's own account has it; *silent*: lost with a process that died or a message that was not carried.\n\n" +
		"| camera | captured | tracked | dropped with a notice | silent | the rig: captured | tracked | dropped | rings |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, camera := range slices.Sorted(maps.Keys(r.Measured.Cameras)) {
		c, s := r.Measured.Cameras[camera], r.Rig.Cameras[camera]
		told := 0
		for _, n := range c.Dropped {
			told += n
		}
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", camera, c.Captured, c.Tracked, told, c.Silent,
			s.Captured, s.Tracked, s.TotalDropped(), r.Measured.Rings[camera])
	}
	fmt.Fprintf(b, "\n%d lines were recorded, whole and each frame once.\n\n", r.RecordedLines)
}

// mostChanges is how many changes of identity are written out for people.
const mostChanges = 20

func (r *Report) identities(b *strings.Builder) {
	all := r.Measured.Identities
	fmt.Fprintf(b, "The one face of a camera got another number %d times: it jumps where a clip or the network camera begins anew, and is a newcomer where two numbers look alike.\n\n", len(all))
	for _, x := range all[:min(len(all), mostChanges)] {
		fmt.Fprintf(b, "- %s, %.1f s: %d, then %d (after %s)\n", x.Camera, x.AtS, x.From, x.To, cmp.Or(x.After, "nothing"))
	}
	if len(all) > mostChanges {
		fmt.Fprintf(b, "- and %d more\n", len(all)-mostChanges)
	}
	if len(all) > 0 {
		b.WriteString("\n")
	}
}

func (r *Report) leaks(b *strings.Builder) {
	b.WriteString("## What processes hold\n\nAt rest, before the first step → after the last one; memory without shared memory.\n\n" +
		"| process | open files | goroutines | threads | memory MiB |\n|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(r.Measured.Held)) {
		x := r.Measured.Held[name]
		fmt.Fprintf(b, "| %s | %d → %d | %s → %s | %d → %d | %d → %d |\n", name, x.Before.Files, x.After.Files,
			count(x.Before.Goroutines), count(x.After.Goroutines), x.Before.Threads, x.After.Threads, x.Before.RSSKiB>>10, x.After.RSSKiB>>10)
	}
	var streams []string
	for _, s := range r.Streams {
		streams = append(streams, fmt.Sprintf("%s %d messages, %d KiB, %d consumers", s.Name, s.Messages, s.Bytes>>10, s.Consumers))
	}
	fmt.Fprintf(b, "\nNATS streams at the end: %s.\n", strings.Join(streams, "; "))
}

// count is a number that may not be known.
func count(n int) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprint(n)
}

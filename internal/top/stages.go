package top

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
)

// frames a second of all cameras, dropped since the process started, and its own work on a frame of the slowest camera.
func (p *process) sums() (rate float64, dropped uint64, work float64) {
	rate = unknown
	for _, r := range p.cameras {
		rate = max(rate, 0) + r.frames
	}
	for _, c := range p.Cameras {
		dropped += total(c.Dropped)
		work = max(work, c.WorkMS.P99)
	}
	return rate, dropped, work
}

var stageColumns = []column{
	{"STAGE", 10, false}, {"PID", 7, true}, {"CPU %", 6, true}, {"MEMORY", 7, true}, {"RESTARTS", 8, true},
	{"FRAMES/S", 8, true}, {"DROPPED", 8, true}, {"WORK P99", 8, true}, {"RUNS ON", 8, false},
}

func (p *process) row(at time.Time) Line {
	if !p.missing.IsZero() {
		text := fmt.Sprintf("%-10s %7d no answer for %s", clip(p.Stage, 10), p.PID, at.Sub(p.missing).Round(time.Second))
		return Line{{text, Bad}}
	}
	rate, dropped, work := p.sums()
	restarts, lost, on := Span{Text: strconv.Itoa(p.Restarts)}, Span{Text: strconv.FormatUint(dropped, 10)}, Span{Text: cmp.Or(p.Backend, "-")}
	if p.Restarts > 0 {
		restarts.Style = Warning
	}
	if p.losing() {
		lost.Style = Bad
	}
	if p.Because != "" {
		on.Style = Warning
	}
	return row(stageColumns, []Span{
		{Text: p.Stage}, {Text: strconv.Itoa(p.PID)}, {Text: number(p.cpu, 1)}, {Text: size(p.Memory)}, restarts,
		{Text: number(rate, 1)}, lost, {Text: number(work, 1)}, on,
	})
}

func (p *process) losing() bool {
	for _, r := range p.cameras {
		if r.dropped > 0 {
			return true
		}
	}
	return false
}

// detail is all about the process that its row has no room for.
func (p *process) detail() []string {
	lines := []string{fmt.Sprintf("%s: process %d, up for %s", p.Stage, p.PID, time.Duration(p.UptimeS*float64(time.Second)).Round(time.Second))}
	if p.Backend != "" {
		text := "networks run on " + p.Backend
		if p.Because != "" {
			text += ": " + p.Because
		}
		lines = append(lines, text)
	}
	if p.Model != "" {
		text := "model " + p.Model
		if p.Chosen != "" {
			text += ": " + p.Chosen
		}
		lines = append(lines, text)
	}
	if n := p.Streams; n != nil {
		lines = append(lines, fmt.Sprintf("%d LSL streams, %d readers, %d samples lost by readers that are too slow", n.Open, n.Readers, n.Lost))
	}
	if p.Slow > 0 {
		lines = append(lines, fmt.Sprintf("read messages too slowly %d times", p.Slow))
	}
	return lines
}

// cpu of all processes; the stages of `up --threads` are one.
func (m *Model) cpu() float64 {
	sum, seen := float64(unknown), map[int]bool{}
	for _, p := range m.procs {
		if p.cpu >= 0 && !seen[p.PID] {
			sum, seen[p.PID] = max(sum, 0)+p.cpu, true
		}
	}
	return sum
}

// gpus are those of all machines, each once.
func (m *Model) gpus() []telemetry.GPU {
	var out []telemetry.GPU
	seen := map[string]bool{}
	for _, p := range m.procs {
		for _, g := range p.GPUs {
			if !seen[g.UUID] && p.missing.IsZero() {
				seen[g.UUID], out = true, append(out, g)
			}
		}
	}
	return out
}

// answering counts the processes that answer, and the stages of which none does.
func (m *Model) answering() (n int, silent []string) {
	there := map[string]bool{}
	for _, p := range m.procs {
		if p.missing.IsZero() {
			n++
			there[p.Stage] = true
		}
	}
	for _, name := range stage.Names {
		if !there[name] {
			silent = append(silent, name)
		}
	}
	return n, silent
}

package app

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"facetrack/internal/stage"
	"facetrack/ipc"
)

// fullLoad is the part of its frames that each camera has to give: fewer, and the machine was not loaded as the number of cameras says.
const fullLoad = 0.98

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// whyNot says why a run does not count; "" when it does.
func (b *BenchCamerasCmd) whyNot(mode string, s CamerasStep, account Summary) string {
	var why []string
	add := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	if s.Captured != s.Tracked {
		add("%d of %d frames were dropped", s.Captured-s.Tracked, s.Captured)
	}
	if limit := milliseconds(b.Limit); s.P99 > limit {
		add("p99 %.1f ms is above %.1f", s.P99, limit)
	}
	whole := b.FPS * s.HoldS
	few, least := s.Cameras-len(account.Cameras), uint64(0)
	for _, c := range account.Cameras {
		if float64(c.Captured) < fullLoad*whole {
			if few == 0 || c.Captured < least {
				least = c.Captured
			}
			few++
		}
	}
	if few > 0 {
		add("%d of %d cameras gave less than %g %% of %.0f frames, one %d", few, s.Cameras, 100*fullLoad, whole, least)
	}
	for _, name := range slices.Sorted(maps.Keys(account.Restarts)) {
		if n := account.Restarts[name]; n > 0 {
			add("%s was started again %d time(s)", name, n)
		}
	}
	return strings.Join(append(why, b.wrongWays(mode, account)...), "; ")
}

var networkStages = []string{stage.Detect, stage.Landmarks}

// wrongWays says where pixels came, or networks ran, otherwise than the mode is there to measure.
func (b *BenchCamerasCmd) wrongWays(mode string, account Summary) (wrong []string) {
	for _, name := range networkStages {
		if ran := account.Backends[name]; b.Backend == "cuda" && ran != "cuda" {
			wrong = append(wrong, fmt.Sprintf("%s ran on %q", name, ran))
		}
	}
	ways := b.ways(mode)
	if ways == nil {
		return wrong
	}
	links, first := 0, ""
	for _, camera := range slices.Sorted(maps.Keys(account.Cameras)) {
		for _, name := range networkStages {
			link := account.Cameras[camera].Links[name]
			if slices.Contains(ways, ipc.Transport(link.Transport)) {
				continue
			}
			if links++; first == "" {
				first = fmt.Sprintf("%s → %s: %s", camera, name, link)
			}
		}
	}
	if links > 0 {
		wrong = append(wrong, fmt.Sprintf("%d links are not %v: %s", links, ways, first))
	}
	return wrong
}

// ways are the transports that a mode is there to measure; nil: any.
func (b *BenchCamerasCmd) ways(mode string) []ipc.Transport {
	switch {
	case mode == "host-copy":
		return []ipc.Transport{ipc.SHM, ipc.Copy}
	case b.Backend != "cuda":
		return nil
	case mode == "threads":
		return []ipc.Transport{ipc.CUDA}
	}
	return []ipc.Transport{ipc.CUDAIPC}
}

// verdict is an error when fewer cameras were held than asked for.
func (b *BenchCamerasCmd) verdict(r CamerasResult) error {
	var all []error
	held := map[string]int{}
	for _, m := range r.Modes {
		held[m.Mode] = m.Held
		switch {
		case m.Held < b.Cameras:
			all = append(all, fmt.Errorf("%s does not hold %s", m.Mode, m.whyNoMore()))
		case m.Held == 0:
			all = append(all, fmt.Errorf("%s holds not even one camera; %s", m.Mode, m.whyNoMore()))
		case m.Held < b.AtLeast && m.Mode != "host-copy":
			all = append(all, fmt.Errorf("%s holds %d cameras, fewer than --at-least=%d; %s", m.Mode, m.Held, b.AtLeast, m.whyNoMore()))
		}
	}
	processes, one := held["processes"]
	copies, other := held["host-copy"]
	if b.Ratio > 0 && one && other && (processes == 0 || float64(processes) < b.Ratio*float64(copies)) {
		all = append(all, fmt.Errorf("processes hold %d cameras and host-copy %d: that is less than --ratio=%g", processes, copies, b.Ratio))
	}
	return errors.Join(all...)
}

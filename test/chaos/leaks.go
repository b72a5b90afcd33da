package main

import (
	"maps"
	"slices"
)

// What a process may hold more at the end than at the beginning: connections that are being made, buffers that have grown to what is usual.
const (
	moreFiles      = 8
	moreGoroutines = 12
	moreMemory     = 48 << 10 // KiB, and half of what it was
)

// judgeLeaks compares what processes hold at rest after all steps with what they, or those before them in their place, held at rest
// before, and what each that lived for long held early and late in its life.
func (f *findings) judgeLeaks() {
	first, last := f.atRest(f.samples, f.begin, false), f.atRest(f.samples, f.end, true)
	for _, name := range slices.Sorted(maps.Keys(first)) {
		b, e := first[name], last[name]
		f.measured.Held[name] = Held{Before: b, After: e}
		if e.PID == 0 {
			f.violate(0, f.end, "%s does not run at the end", name)
			continue
		}
		f.compare(name+" at rest, before and after", b, e)
	}
	f.judgeLives()
}

// atRest is what each process holds in the samples up to a moment, or from there on: the least of a few, which is free of what comes and goes.
func (f *findings) atRest(samples []sample, at int64, after bool) map[string]Figures {
	const few = 12
	var some []sample
	for _, s := range samples {
		if (s.at >= at) == after {
			some = append(some, s)
		}
	}
	if len(some) > few && !after {
		some = some[len(some)-few:]
	}
	out := map[string]Figures{}
	for _, s := range some {
		for name, x := range s.costs {
			y, ok := out[name]
			if !ok || y.PID != x.PID {
				out[name] = x
				continue
			}
			out[name] = least(x, y)
		}
	}
	return out
}

func least(x, y Figures) Figures {
	goroutines := min(x.Goroutines, y.Goroutines)
	if goroutines == 0 {
		goroutines = max(x.Goroutines, y.Goroutines)
	}
	return Figures{
		AtNS: x.AtNS, PID: x.PID, Files: min(x.Files, y.Files), Threads: min(x.Threads, y.Threads), RSSKiB: min(x.RSSKiB, y.RSSKiB),
		Shared: min(x.Shared, y.Shared), Goroutines: goroutines,
	}
}

func (f *findings) compare(what string, b, e Figures) {
	if e.Files > b.Files+moreFiles {
		f.violate(0, e.AtNS, "%s: %d open files, then %d", what, b.Files, e.Files)
	}
	if b.Goroutines > 0 && e.Goroutines > b.Goroutines+moreGoroutines {
		f.violate(0, e.AtNS, "%s: %d goroutines, then %d", what, b.Goroutines, e.Goroutines)
	}
	if e.RSSKiB > b.RSSKiB*3/2+moreMemory {
		f.violate(0, e.AtNS, "%s: %d KiB of memory, then %d", what, b.RSSKiB, e.RSSKiB)
	}
}

// longLife is how many samples make a long life: five minutes. In a shorter one a quarter tells what comes and goes, as the rings of a capture process
// before the last.
const longLife = 1200

// judgeLives looks at each process that lived for long: the medians of the second and of the last quarter of its life.
func (f *findings) judgeLives() {
	lives := map[int][]Figures{}
	names := map[int]string{}
	for _, s := range f.samples {
		for name, x := range s.costs {
			lives[x.PID] = append(lives[x.PID], x)
			names[x.PID] = name
		}
	}
	for _, pid := range slices.Sorted(maps.Keys(lives)) {
		all := lives[pid]
		if len(all) < longLife {
			continue
		}
		q := len(all) / 4
		b, e := median(all[q:2*q]), median(all[len(all)-q:])
		f.measured.Lives = append(f.measured.Lives, Life{Process: names[pid], Seconds: seconds(all[len(all)-1].AtNS - all[0].AtNS), Second: b, Last: e})
		f.compare(names[pid]+" in the second and the last quarter of its life", b, e)
	}
}

// median is that of each figure, where it is known.
func median(some []Figures) Figures {
	of := func(figure func(Figures) int) int {
		var all []int
		for _, x := range some {
			if n := figure(x); n > 0 {
				all = append(all, n)
			}
		}
		if len(all) == 0 {
			return 0
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	last := some[len(some)-1]
	return Figures{
		AtNS: last.AtNS, PID: last.PID,
		Files:      of(func(x Figures) int { return x.Files }),
		Threads:    of(func(x Figures) int { return x.Threads }),
		RSSKiB:     of(func(x Figures) int { return x.RSSKiB }),
		Shared:     of(func(x Figures) int { return x.Shared }),
		Goroutines: of(func(x Figures) int { return x.Goroutines }),
	}
}

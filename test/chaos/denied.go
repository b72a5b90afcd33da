package main

import (
	"slices"
	"time"
)

// denied is how long the machine did not let a stage's process run that was ready to, from one moment to another: what the kernel counts
// for its threads, all together, between the looks around those moments, or what this program felt itself. A process that waits for
// others, for a lock or for a disk is not ready to run.
func (f *findings) denied(name string, from, to int64) time.Duration {
	i, _ := slices.BinarySearchFunc(f.samples, from, func(s sample, at int64) int { return int(s.at - at) })
	j, _ := slices.BinarySearchFunc(f.samples, to, func(s sample, at int64) int { return int(s.at - at) })
	var sum time.Duration
	for k := max(i, 1); k <= min(j, len(f.samples)-1); k++ {
		before, after := f.samples[k-1].costs[name], f.samples[k].costs[name]
		if before.PID != after.PID {
			before.waited = 0
		}
		sum += max(after.waited-before.waited, 0)
	}
	return max(sum, f.probe.between(from, to))
}

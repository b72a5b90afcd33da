// Package clock reads CLOCK_MONOTONIC, which every process of a host shares and which is the clock of Lab Streaming Layer.
package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now returns CLOCK_MONOTONIC in nanoseconds. It stops while the machine sleeps.
func Now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("clock: CLOCK_MONOTONIC cannot be read: " + err.Error())
	}
	return ts.Nano()
}

// Wall returns the wall clock in nanoseconds since the Unix epoch.
func Wall() int64 { return time.Now().UnixNano() }

// Since returns how long ago the CLOCK_MONOTONIC instant ns was.
func Since(ns int64) time.Duration { return time.Duration(Now() - ns) }

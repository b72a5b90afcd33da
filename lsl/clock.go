package lsl

import "facetrack/internal/clock"

// Seconds converts an instant in nanoseconds of CLOCK_MONOTONIC to an LSL timestamp in seconds.
func Seconds(ns int64) float64 { return float64(ns) / 1e9 }

// Now reads the LSL clock: seconds on CLOCK_MONOTONIC. It stops while the machine sleeps.
func Now() float64 { return Seconds(clock.Now()) }

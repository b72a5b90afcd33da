// Package clocksync tells how far the clock of another host is from this one's, and how wrong that may be.
//
// Of an exchange four instants are known: when this host asked, when the other one heard it, when it answered, and when the answer was back,
// the middle two on the other clock. What has to be added to times of the other clock lies between asked − heard and
// back − answered, whatever the two ways took: the middle of both, wrong by half the round trip at most. This is how NTP and LSL measure as well.
//
//	offset = ((asked − heard) + (back − answered)) / 2
//	error  = ((back − asked) − (answered − heard)) / 2
//
// Of a burst the exchange with the shortest round trip counts. A [Clock] keeps those of some minutes and fits a line, as clocks drift apart by some
// millionths. Between two bursts the error grows by what the drift may change. What contradicts all before is a step: the other host has slept, or
// was started again, and everything before counts no more. Nothing is told before something was measured.
package clocksync

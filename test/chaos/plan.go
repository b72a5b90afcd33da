package main

import (
	"math/rand/v2"
	"slices"
	"time"

	"facetrack/internal/stage"
)

// Kind is what a step does.
type Kind string

// Kinds of steps.
const (
	Kill        Kind = "kill"         // SIGKILL of stages
	Term        Kind = "term"         // SIGTERM of a stage, which ends in order and is started again
	Twice       Kind = "kill-twice"   // SIGKILL of a stage, and again when it has been started again
	KillAway    Kind = "kill-away"    // SIGKILL of a stage, and the server is cut off at once, for long
	Stop        Kind = "stop"         // SIGSTOP of a process for a while
	BusKill     Kind = "bus-kill"     // SIGKILL of the NATS server, which is started again after a while
	BusStop     Kind = "bus-stop"     // SIGSTOP of the NATS server for a while
	BusCut      Kind = "bus-cut"      // all connections to the server end, and none can be made for a while
	BusReset    Kind = "bus-reset"    // one connection ends
	BusStall    Kind = "bus-stall"    // connections stay, but nothing passes for a while
	DiskFull    Kind = "disk-full"    // the disks of the NATS server and of the recording are full for a while; then the server is started again
	CameraCut   Kind = "camera-cut"   // the network camera is gone for a while
	CameraHang  Kind = "camera-hang"  // the network camera sends nothing for a while
	Starve      Kind = "starve"       // others take the CPUs for a while
	Setting     Kind = "setting"      // a setting is changed live
	CameraAway  Kind = "camera-away"  // a camera is taken out of the configuration, and put back after a while
	parentStage      = "facetrack-up" // Stop may hit the parent, too
)

// Step is one thing that is done.
type Step struct {
	At      time.Duration `json:"at_ns"` // since the rig was at rest
	Kind    Kind          `json:"kind"`
	Targets []string      `json:"targets,omitempty"`
	For     time.Duration `json:"for_ns,omitempty"`
	Value   int           `json:"value,omitempty"`
}

// share is how often a kind comes, and how long it lasts.
type share struct {
	kind        Kind
	weight      int
	least, most time.Duration
}

var shares = []share{
	{Kill, 30, 0, 0},
	{Term, 6, 0, 0},
	{Twice, 4, 300 * time.Millisecond, 1500 * time.Millisecond},
	{KillAway, 3, 5 * time.Second, 9 * time.Second},
	{Stop, 20, 200 * time.Millisecond, 5 * time.Second},
	{BusKill, 5, 100 * time.Millisecond, 2 * time.Second},
	{BusStop, 5, 200 * time.Millisecond, 5 * time.Second},
	{BusCut, 6, 0, 6 * time.Second},
	{BusReset, 4, 0, 0},
	{BusStall, 6, 500 * time.Millisecond, 7 * time.Second},
	{DiskFull, 4, time.Second, 4 * time.Second},
	{CameraCut, 4, 200 * time.Millisecond, 4 * time.Second},
	{CameraHang, 3, time.Second, 8 * time.Second},
	{Starve, 6, time.Second, 4 * time.Second},
	{Setting, 4, 0, 0},
	{CameraAway, 3, time.Second, 3 * time.Second},
}

// Pauses between the end of a step and the next one. Every fifth step, about, comes while the rig still recovers.
const (
	leastPause = 3500 * time.Millisecond
	mostPause  = 6 * time.Second
)

// plan draws the steps of a run: the same for the same seed and length.
func plan(seed uint64, length time.Duration) []Step {
	r := rand.New(rand.NewPCG(seed, 0x6368616f73)) //nolint:gosec // a seed is wanted
	var steps []Step
	bag := []Kind{}
	for at := time.Second; ; {
		if len(bag) == 0 { // all kinds by their weights before any comes more often
			for _, s := range shares {
				for range s.weight {
					bag = append(bag, s.kind)
				}
			}
			r.Shuffle(len(bag), func(i, j int) { bag[i], bag[j] = bag[j], bag[i] })
		}
		s := draw(r, bag[0])
		bag = bag[1:]
		s.At = at
		if at += s.For; at+mostPause > length {
			return steps
		}
		steps = append(steps, s)
		if r.IntN(5) == 0 {
			at += between(r, 300*time.Millisecond, time.Second)
		} else {
			at += between(r, leastPause, mostPause)
		}
	}
}

func draw(r *rand.Rand, kind Kind) Step {
	s := Step{Kind: kind}
	spec := shares[slices.IndexFunc(shares, func(s share) bool { return s.kind == kind })]
	if spec.most > 0 {
		s.For = between(r, spec.least, spec.most)
	}
	switch kind {
	case Kill:
		first := r.IntN(len(stage.Names) + 1)
		if first == len(stage.Names) {
			s.Targets = []string{witnessProcess}
			break
		}
		s.Targets = []string{stage.Names[first]}
		if r.IntN(7) == 0 {
			s.Targets = append(s.Targets, stage.Names[(first+1+r.IntN(len(stage.Names)-1))%len(stage.Names)])
		}
	case Term, Twice, KillAway:
		s.Targets = []string{stage.Names[r.IntN(len(stage.Names))]}
	case Stop:
		s.Targets = []string{append(slices.Clone(stage.Names), parentStage, witnessProcess)[r.IntN(len(stage.Names)+2)]}
	case Setting:
		s.Value = 2 + r.IntN(6)
	case BusReset, CameraAway:
		s.Value = r.IntN(1 << 16)
	}
	return s
}

func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return (least + time.Duration(r.Int64N(int64(most-least)+1))).Round(time.Millisecond)
}

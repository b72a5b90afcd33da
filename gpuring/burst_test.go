package gpuring

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// A camera of 60 frames a second and two stages that stand still for 80 ms now and then, in a time of their own, so that minutes
// take moments and every run is the same.
const (
	burstFPS   = 60
	burstQueue = 6 // frames that wait for a stage
	burstPause = 80 * time.Millisecond
	burstStep  = time.Millisecond
)

// consumer is a stage: frames wait in its line, held by nobody, until it leases one and works on it.
type consumer struct {
	r     Reader
	work  time.Duration
	next  *consumer // gets the frames that this one has done
	line  []Ticket
	lease Lease
	now   Ticket        // of lease
	over  time.Duration // when the work on it is

	pauses       *rand.Rand
	every        time.Duration // a pause, in the mean
	pauseBegins  time.Duration
	late, missed int // frames that were overwritten, and that made room in the line
}

func (s *consumer) push(t Ticket) {
	if len(s.line) == burstQueue {
		s.line = s.line[1:]
		s.missed++
	}
	s.line = append(s.line, t)
}

func (s *consumer) pausing(at time.Duration) bool {
	if at >= s.pauseBegins+burstPause {
		s.pauseBegins = at + burstPause + time.Duration(s.pauses.Float64()*2*float64(s.every))
	}
	return at >= s.pauseBegins
}

func (s *consumer) step(t testing.TB, at time.Duration) {
	if s.pausing(at) {
		return
	}
	if s.lease != nil && at >= s.over {
		if err := s.lease.Release(); err != nil {
			t.Fatal(err)
		}
		if s.lease = nil; s.next != nil {
			s.next.push(s.now)
		}
	}
	for s.lease == nil && len(s.line) > 0 {
		s.now, s.line = s.line[0], s.line[1:]
		lease, err := s.r.Lease(s.now)
		if errors.Is(err, ErrStale) {
			s.late++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		s.lease, s.over = lease, at+s.work
	}
}

// burst is what came of so many frames: overwritten, pushed out of a line, without a slot; depth is summed over time.
type burst struct{ frames, late, missed, dropped, depth int }

// runBurst lets a ring of least to 8 slots take frames for so long.
func runBurst(t testing.TB, least int, every, long time.Duration, f faults) (sum burst) {
	t.Helper()
	defer func(before faults) { injected = before }(injected)
	injected = f
	o := Options{Dir: sharedDir(t), Rig: "lab", Camera: "cam0", Geometry: tiny, MinSlots: least}
	o.Geometry.Slots = 8
	made, err := Create(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = made.Close() }()
	w := made.(*ringWriter)
	var at time.Duration
	w.depth.clock, w.depth.began = func() int64 { return int64(at) }, 0
	second := &consumer{work: 5 * time.Millisecond}
	first := &consumer{work: 8 * time.Millisecond, next: second}
	for i, s := range []*consumer{first, second} {
		if s.r, err = w.AttachLocal("burst"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.r.Close() }()
		s.pauses, s.every = rand.New(rand.NewPCG(7, uint64(i))), every
	}
	for ; at < long; at += burstStep {
		if due := time.Duration(sum.frames) * time.Second / burstFPS; at >= due {
			sum.frames++
			seq := w.NextSeq()
			if claim, err := w.Begin(); err != nil {
				sum.dropped++
			} else if ticket, err := claim.Publish(seq); err != nil {
				t.Fatal(err)
			} else {
				first.push(ticket)
			}
		}
		first.step(t, at)
		second.step(t, at)
		sum.depth += w.depth.now
	}
	sum.late, sum.missed = first.late+second.late, first.missed+second.missed
	return sum
}

// TestBursts: a ring that is as shallow as it can be loses few frames of stages that stand still now and then, and many if it
// does not hear of it.
func TestBursts(t *testing.T) {
	const every, long = 2 * time.Second, 10 * time.Minute
	hears, deaf := runBurst(t, 4, every, long, faults{}), runBurst(t, 4, every, long, faults{DeafToLateness: true})
	if 20*hears.late > deaf.late || hears.late > hears.frames/1000 || hears.dropped+deaf.dropped > 0 {
		t.Errorf("overwritten: %+v, without regard for late readers %+v", hears, deaf)
	}
}

// BenchmarkBursts shows how many of 10,000 frames were overwritten before a stage came to them, how many made room in its line for
// newer ones, and how deep the ring was in the mean.
func BenchmarkBursts(b *testing.B) {
	const long = 10 * time.Minute
	for _, every := range []time.Duration{2 * time.Second, 20 * time.Second} {
		for _, least := range []int{4, 6, 8} {
			for _, f := range []faults{{}, {DeafToLateness: true}} {
				b.Run(fmt.Sprintf("every=%v/min_slots=%d/deaf=%v", every, least, f.DeafToLateness), func(b *testing.B) {
					var sum burst
					for b.Loop() {
						sum = runBurst(b, least, every, long, f)
					}
					per := 1e4 / float64(sum.frames)
					b.ReportMetric(float64(sum.late)*per, "overwritten/10k")
					b.ReportMetric(float64(sum.missed)*per, "queue-full/10k")
					b.ReportMetric(float64(sum.depth)*float64(burstStep)/float64(long), "slots")
				})
			}
		}
	}
}

//go:build cuda

package gpu

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/latency"
	"facetrack/internal/stage"
)

// backInFlow is how long a killed process may take until frames captured after the kill are through the whole rig.
const backInFlow = 2 * time.Second

// TestSoak kills random processes of several rigs, again and again. Everyone is back in the flow in time, nobody else is
// started again, no slot is lost, every frame is accounted for, and the GPU's memory is what it was.
func TestSoak(t *testing.T) {
	program := os.Getenv("FACETRACK_BIN")
	if program == "" && onGPU {
		t.Fatal("set FACETRACK_BIN to the facetrack program")
	}
	if program == "" {
		t.Skip("SKIPPED: set FACETRACK_BIN to the facetrack program, built with the tag cuda")
	}
	ctx := cudatest.Use(t)
	kills, n := setting(t, "FACETRACK_SOAK_KILLS", soakKills), setting(t, "FACETRACK_SOAK_RIGS", soakRigs)
	s := &soak{t: t, recovery: latency.New(), want: kills}
	for i := range n {
		s.rigs = append(s.rigs, newSoakRig(t, program, i))
	}
	for _, r := range s.rigs {
		r.waitForFlow()
	}
	before := usedMemory(t, ctx, s.survivors())
	begin := time.Now()
	var wg sync.WaitGroup
	for _, r := range s.rigs {
		wg.Go(func() { s.killOn(r) })
	}
	wg.Wait()
	took := time.Since(begin)
	for _, r := range s.rigs {
		r.waitForFlow()
		r.noSlotLost()
	}
	after := settledMemory(t, ctx, s.survivors(), before)
	after.compare(t, before, n)
	for _, r := range s.rigs {
		r.end()
	}
	noLeftovers(t)
	s.report(kills, took, before, after)
}

// soak is what all rigs share.
type soak struct {
	t        *testing.T
	rigs     []*soakRig
	mu       sync.Mutex
	recovery *latency.Histogram
	done     int // kills
	want     int
	late     int
	byStage  map[string]int
}

// next takes one kill; false when all are done.
func (s *soak) next() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done >= s.want || s.t.Failed() {
		return false
	}
	s.done++
	return true
}

func (s *soak) survivors() map[string]int {
	all := map[string]int{}
	for _, r := range s.rigs {
		if r.spared != "" {
			all[r.name+" "+r.spared] = r.pids()[r.spared]
		}
	}
	return all
}

// killOn kills processes of one rig, one after the other.
func (s *soak) killOn(r *soakRig) {
	for s.next() {
		name := r.choose()
		took := r.kill(name)
		s.mu.Lock()
		s.recovery.Record(took)
		if s.byStage == nil {
			s.byStage = map[string]int{}
		}
		s.byStage[name]++
		if took > backInFlow {
			s.late++
			s.t.Logf("%s of %s was back in the flow after %v", name, r.name, took.Round(time.Millisecond))
		}
		s.mu.Unlock()
	}
}

func (s *soak) report(kills int, took time.Duration, before, after memory) {
	s.t.Helper()
	if s.late > 0 {
		if onGPU { // the imitated driver runs in tests beside others, on machines of two cores
			s.t.Errorf("%d of %d restarts took longer than %v", s.late, kills, backInFlow)
		}
	}
	p := s.recovery.Percentiles()
	line, err := json.Marshal(map[string]any{
		"test": s.t.Name(), "gpu": onGPU, "rigs": len(s.rigs), "kills": s.done, "by_stage": s.byStage, "seconds": took.Seconds(),
		"recovery_ms": p, "late": s.late, "memory_before": before, "memory_after": after,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("RESULT %s", line)
}

// stable is how long a process must have run to be started again after the shortest pause (internal/app/supervise).
const stable = 2500 * time.Millisecond

// choose picks a process that would be started again without a longer pause, and waits until there is one.
func (r *soakRig) choose() string {
	for {
		var ready []string
		for _, name := range stage.Names {
			if last, killed := r.killed[name]; name != r.spared && (!killed || time.Since(last) > stable) {
				ready = append(ready, name)
			}
		}
		if len(ready) > 0 {
			return ready[rand.IntN(len(ready))]
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// noLeftovers: nothing of these rigs is left in shared memory.
func noLeftovers(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob("/dev/shm/*" + soakName() + "*")
	if err != nil || len(left) > 0 {
		t.Errorf("left in /dev/shm: %v %v", left, err)
	}
}

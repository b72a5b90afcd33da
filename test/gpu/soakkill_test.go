//go:build cuda

package gpu

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/clock"
	"facetrack/internal/ledger"
	"facetrack/internal/stage"
)

// kill ends one process as kill -9 does, and returns how long it took until a frame that was captured later came out at
// the far end, and the killed stage itself had passed frames on. Nobody else may have been started again.
func (r *soakRig) kill(name string) time.Duration {
	before := r.pids()
	r.killed[name], r.kills[name] = time.Now(), r.kills[name]+1
	begin, now := time.Now(), clock.Now()
	if err := syscall.Kill(before[name], syscall.SIGKILL); err != nil {
		r.t.Errorf("%s: kill %s: %v", r.name, name, err)
		return 0
	}
	if name == stage.LSLOut {
		r.eventually("lsl-out passes frames on", func() error { return r.passes(name, before[name]) })
	} else {
		r.eventually(name+" is back in the flow", func() error {
			if r.tracked.Load() <= now {
				return fmt.Errorf("no frame captured after the kill was tracked")
			}
			return nil
		})
	}
	took := time.Since(begin)
	for other, pid := range r.pids() {
		if same := pid == before[other]; same == (other == name) {
			r.t.Errorf("%s: %s was killed; %s had process %d before and has %d now", r.name, name, other, before[other], pid)
		}
	}
	return took
}

// passes is nil once a stage has passed frames on in another process than before.
func (r *soakRig) passes(name string, before int) error {
	all, err := r.status(100*time.Millisecond, name) // the dead process may still be known to the server
	if err != nil {
		return err
	}
	if s := all[name]; s.PID == before || s.Cameras["cam0"].Frames == 0 {
		return fmt.Errorf("process %d has passed on %d frames", s.PID, s.Cameras["cam0"].Frames)
	}
	return nil
}

// noSlotLost: every slot is free or held by a process that lives, and there is a moment at which all are free.
func (r *soakRig) noSlotLost() {
	r.t.Helper()
	r.eventually("all slots are free", func() error {
		all, err := r.status(patience, stage.Capture, stage.Detect, stage.Landmarks)
		if err != nil {
			return err
		}
		data, err := json.Marshal(all[stage.Capture].Cameras["cam0"].Ring)
		if err != nil {
			return err
		}
		var ring gpuring.Stats
		if err := json.Unmarshal(data, &ring); err != nil || ring.Slots == 0 {
			return fmt.Errorf("capture says of its ring: %s (%w)", data, err)
		}
		for _, reader := range ring.Readers {
			alive := reader.PID == all[stage.Capture].PID || reader.PID == all[stage.Detect].PID || reader.PID == all[stage.Landmarks].PID
			if !alive || reader.Revoked {
				return fmt.Errorf("a reader that is nobody: %+v", reader)
			}
		}
		if ring.Held > 0 || ring.Free+ring.Writing != ring.Slots {
			return fmt.Errorf("%d of %d slots are held", ring.Held, ring.Slots)
		}
		return nil
	})
}

// end stops the rig in order and checks its books.
func (r *soakRig) end() {
	r.t.Helper()
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		r.t.Fatal(err)
	}
	select {
	case <-r.exited:
	case <-time.After(limit):
		r.t.Fatalf("%s does not end", r.name)
	}
	data, err := os.ReadFile(filepath.Join(r.dir, "summary.json"))
	if err != nil {
		r.t.Fatal(err)
	}
	var s struct {
		Cameras  map[string]ledger.Summary `json:"cameras"`
		Restarts map[string]int            `json:"restarts"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		r.t.Fatal(err)
	}
	cam := s.Cameras["cam0"]
	if cam.Captured == 0 || cam.Captured != cam.Tracked+cam.TotalDropped() || cam.Open != 0 {
		r.t.Errorf("%s: captured %d ≠ tracked %d + dropped %v (open %d)", r.name, cam.Captured, cam.Tracked, cam.Dropped, cam.Open)
	}
	for _, name := range stage.Names {
		if s.Restarts[name] != r.kills[name] {
			r.t.Errorf("%s: %s was started again %d times after %d kills", r.name, name, s.Restarts[name], r.kills[name])
		}
	}
	r.t.Logf("%s: captured %d = tracked %d + dropped %v; restarts %v; pixels by %v", r.name, cam.Captured, cam.Tracked, cam.Dropped, s.Restarts, r.transports)
}

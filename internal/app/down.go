package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/monitor"
	"facetrack/internal/stage"
)

const (
	statusWait   = 2 * time.Second
	statusEvery  = 500 * time.Millisecond
	captureGrace = 5 * time.Second // it lets the last frames pass
	stageGrace   = 3 * time.Second
)

// close ends the rig in order: capture first, then each stage once the frames before it have passed, then the
// books, then the server. What was recorded is kept whatever happens.
func (r *rig) close() error {
	var errs []error
	var restarts map[string]int
	if r.monitor != nil && len(r.runners) > 0 {
		if r.started {
			r.askStatus(statusWait)
		}
		restarts = r.stopStages()
	}
	if r.monitor != nil {
		errs = append(errs, r.monitor.Close())
		r.monitor.Ledger.Close()
		r.endSession()
	}
	if r.record != nil {
		errs = append(errs, r.record.Close())
		if lines, _ := r.record.Lines(); lines == 0 && !r.started {
			errs = append(errs, os.Remove(r.record.Path()))
		}
	}
	if r.xdf != nil {
		errs = append(errs, r.xdf.Close())
		if !r.started {
			errs = append(errs, r.xdf.discard())
		}
	}
	if r.claimed && !r.started {
		errs = append(errs, os.Remove(r.cmd.Summary))
	}
	if r.bus != nil {
		errs = append(errs, r.bus.Close())
	}
	errs = append(errs, r.server.stop())
	if _, err := gpuring.CleanStale(r.cfg.Ring.Dir, r.cfg.Rig); err != nil && len(r.runners) > 0 {
		errs = append(errs, err)
	}
	if r.started {
		errs = append(errs, r.report(restarts))
	}
	return errors.Join(errs...)
}

func (r *rig) stopStages() (restarts map[string]int) {
	restarts = map[string]int{}
	for _, p := range r.runners {
		_, n := p.PID()
		restarts[p.Name()] = n
		grace := stageGrace
		if p.Name() == stage.Capture {
			grace = captureGrace
		}
		p.Stop(grace)
		if p.Name() == stage.Capture {
			r.settle()
		}
	}
	return restarts
}

// settle waits until every captured frame has met its end, or its patience has run out.
func (r *rig) settle() {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for r.monitor.Ledger.Settle(time.Now()) > 0 {
		<-tick.C
	}
}

// askStatus keeps what the stages say; a stage that does not answer in time keeps what it said before.
func (r *rig) askStatus(wait time.Duration) {
	if !r.bus.IsConnected() {
		return
	}
	all, err := monitor.Status(r.bus.Conn, r.cfg.Rig, stage.Names, wait)
	if err != nil {
		r.log.Debug("stages did not tell their status", "error", err)
	}
	r.statusMu.Lock()
	defer r.statusMu.Unlock()
	for _, s := range all {
		for name, before := range r.last[s.Stage].Cameras {
			if now, ok := s.Cameras[name]; !ok || now.Frames == 0 {
				s.Cameras[name] = before // a process that was started again has seen nothing yet
			}
		}
		r.last[s.Stage] = s
	}
}

// pollStatus asks now and then until ctx is done, so that a process that ends has told its numbers before.
func (r *rig) pollStatus(ctx context.Context) {
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.askStatus(statusEvery)
		}
	}
}

// report prints the summary and writes it to the file that was asked for.
func (r *rig) report(restarts map[string]int) error {
	s := r.summary(restarts)
	if !r.cmd.Quiet {
		s.print(os.Stdout)
	}
	if r.cmd.Summary == "" {
		return r.verdict(s)
	}
	if err := s.write(r.cmd.Summary); err != nil {
		return fmt.Errorf("summary: %w", err)
	}
	return r.verdict(s)
}

// verdict is why the run was no success although nothing broke; a user who ends it early knows.
func (r *rig) verdict(s Summary) error {
	if r.interrupted {
		return nil
	}
	return s.verdict()
}

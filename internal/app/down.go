package app

import (
	"errors"
	"fmt"
	"os"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/monitor"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
)

const (
	statusWait   = 2 * time.Second
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
			r.askStatus()
		}
		restarts = r.stopStages()
	}
	if r.monitor != nil {
		errs = append(errs, r.monitor.Close())
		r.monitor.Ledger.Close()
	}
	if r.record != nil {
		errs = append(errs, r.record.Close())
		if lines, _ := r.record.Lines(); lines == 0 && !r.started {
			errs = append(errs, os.Remove(r.record.Path()))
		}
	}
	if r.bus != nil {
		errs = append(errs, r.bus.Close())
	}
	stopBus(r.server)
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

// askStatus keeps what the stages say about their links before they end.
func (r *rig) askStatus() {
	r.last = map[string]telemetry.Stats{}
	all, err := monitor.Status(r.bus.Conn, r.cfg.Rig, stage.Names, statusWait)
	if err != nil {
		r.log.Warn("stages did not tell their status", "error", err)
	}
	for _, s := range all {
		r.last[s.Stage] = s
	}
}

// report prints the summary and writes it to the file that was asked for.
func (r *rig) report(restarts map[string]int) error {
	s := r.summary(restarts)
	if !r.cmd.Quiet {
		s.print(os.Stdout)
	}
	if r.cmd.Summary == "" {
		return nil
	}
	if err := s.write(r.cmd.Summary); err != nil {
		return fmt.Errorf("summary: %w", err)
	}
	return nil
}

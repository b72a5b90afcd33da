package app

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"facetrack/internal/stage"
)

// looksAtLeast of one piece of work mean that it stands still: it has taken half of the watchdog's time.
const looksAtLeast = 3

// watchdog tells the service manager that this process lives as often as it wants to hear it, until stop, and only as long as alive
// says so. A process that stands still is then ended with SIGABRT, which leaves the stacks of its goroutines in the journal.
func watchdog(alive func() error, log *slog.Logger) (stop func()) {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("no watchdog", "error", err)
	}
	if limit <= 0 {
		return func() {}
	}
	quit := make(chan struct{})
	go func() {
		tick := time.NewTicker(limit / 4)
		defer tick.Stop()
		for {
			if err := alive(); err == nil {
				notify(daemon.SdNotifyWatchdog)
			} else {
				log.Error("not alive", "error", err)
			}
			select {
			case <-quit:
				return
			case <-tick.C:
			}
		}
	}()
	return func() { close(quit) }
}

// alive fails when a piece of work stands still, and does not come back when a lock does that statistics need: those of the cameras,
// their links and their rings.
func alive(env *stage.Env) error {
	if looks := env.Vigil.Look(); looks >= looksAtLeast {
		return fmt.Errorf("a piece of work has not ended in the time of %d looks", looks)
	}
	env.Telemetry.Snapshot()
	return nil
}

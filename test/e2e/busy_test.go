//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"facetrack/internal/app"
	"facetrack/internal/ledger"
	"facetrack/internal/stage/links"
)

// undisturbed runs a rig anew when the machine was too busy for it: run says how that showed. What shows each time is no
// accident.
func undisturbed(t *testing.T, run func() (disturbed string)) {
	t.Helper()
	for n := range attempts {
		disturbed := run()
		if disturbed == "" || t.Failed() {
			return
		}
		if n == attempts-1 {
			t.Errorf("%d times, at last: %s", attempts, disturbed)
			return
		}
		t.Logf("once more: %s", disturbed)
	}
}

// late are the reasons for which frames are dropped where processes stand still for long.
var late = []string{links.ReasonRevoked, links.ReasonOverwritten, links.ReasonQueueFull, links.ReasonRingClosed, links.ReasonUnreachable, ledger.Lost}

// checkNothingLost: no process was started again, and no frame was dropped. It returns those that were dropped because
// of a busy machine.
func checkNothingLost(t *testing.T, s app.Summary) (disturbed string) {
	t.Helper()
	for name, n := range s.Restarts {
		if n > 0 {
			t.Errorf("%s was started again %d times", name, n)
		}
	}
	for dropped, n := range s.Cameras["cam0"].Dropped {
		_, reason, _ := strings.Cut(dropped, ":")
		if !slices.Contains(late, reason) {
			t.Errorf("%d frames were dropped: %s", n, dropped)
		}
		disturbed = fmt.Sprintf("dropped %v", s.Cameras["cam0"].Dropped)
	}
	return disturbed
}

//go:build e2e

package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), program, args...) //nolint:gosec // the program under test
}

// oneClearLine checks what a user sees when something is wrong: one line, which holds every word of want.
func oneClearLine(t *testing.T, text string, want ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 1 {
		t.Errorf("%d lines, want one:\n%s", len(lines), text)
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("the message does not say %q:\n%s", w, text)
		}
	}
}

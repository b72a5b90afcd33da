package clock

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

const printEpoch = "CLOCK_TEST_PRINT_EPOCH"

func TestMain(m *testing.M) {
	if os.Getenv(printEpoch) != "" {
		_, _ = os.Stdout.WriteString(Epoch())
		return
	}
	os.Exit(m.Run())
}

func epochOf(t *testing.T, words ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	words = append(words, self)
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...) //nolint:gosec // this test
	cmd.Env = append(os.Environ(), printEpoch+"=1")
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// Processes of one clock agree, whichever they are.
func TestEpochIsTheClocksOwn(t *testing.T) {
	other, err := epochOf(t)
	if err != nil || Epoch() == "" || other != Epoch() {
		t.Errorf("%q here, %q in another process, %v", Epoch(), other, err)
	}
}

// A time namespace has a clock of its own.
func TestEpochOfATimeNamespace(t *testing.T) {
	other, err := epochOf(t, "unshare", "--fork", "--time", "--monotonic", "1000")
	if err != nil {
		t.Skipf("SKIPPED: no time namespace can be made here: %v", err)
	}
	if other == "" || other == Epoch() {
		t.Errorf("%q in a time namespace, %q outside", other, Epoch())
	}
}

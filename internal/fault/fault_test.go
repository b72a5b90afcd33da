package fault_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"facetrack/internal/fault"
)

func TestPlan(t *testing.T) {
	t.Cleanup(func() { fault.Plan("") })
	fault.Plan("cuIpcOpenMemHandle=201, canary=zeros,nonsense,late=7@2")
	if got := fault.Code("cuIpcOpenMemHandle"); got != 201 {
		t.Errorf("the planned call fails with %d, want 201", got)
	}
	if got := fault.At("canary"); got != "zeros" {
		t.Errorf("canary is %q, want zeros", got)
	}
	for _, step := range []string{"cuIpcCloseMemHandle", "nonsense", ""} {
		if got := fault.At(step); got != "" {
			t.Errorf("%q fails with %q although it was not planned", step, got)
		}
	}
	for i, want := range []int{0, 0, 7, 7} {
		if got := fault.Code("late"); got != want {
			t.Errorf("pass %d of a fault that spares two: %d, want %d", i, got, want)
		}
	}
	fault.Plan("")
	if got := fault.Code("cuIpcOpenMemHandle"); got != 0 {
		t.Errorf("fails with %d after the plan was emptied", got)
	}
}

// A plan made by a test counts more than the environment, and the environment counts without a plan.
func TestEnvironment(t *testing.T) {
	if mode := os.Getenv("FAULT_TEST_CHILD"); mode != "" {
		if mode == "plan" {
			fault.Plan("step=2")
		}
		os.Stdout.WriteString("step:" + fault.At("step") + ";")
		return
	}
	for mode, want := range map[string]string{"environment": "step:1;", "plan": "step:2;"} {
		child := exec.Command(os.Args[0], "-test.run=^TestEnvironment$")
		child.Env = append(os.Environ(), "FAULT_TEST_CHILD="+mode, fault.Variable+"=step=1")
		out, err := child.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %s %v, want %s", mode, out, err, want)
		}
	}
}

func BenchmarkNothingPlanned(b *testing.B) {
	for b.Loop() {
		fault.Code("cuLaunchKernel")
	}
}

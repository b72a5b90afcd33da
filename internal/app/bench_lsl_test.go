package app

import (
	"strings"
	"testing"

	"facetrack/internal/lslbench"
)

func TestBenchLSLVerdict(t *testing.T) {
	b := BenchLSLCmd{Most: 10}
	ours := func(cpu float64, lost int) lslbench.Result {
		return lslbench.Result{Sender: "facetrack", CPU: cpu, Lost: lost}
	}
	for what, c := range map[string]struct {
		runs []lslbench.Result
		ok   bool
	}{
		"cheap":          {[]lslbench.Result{ours(9.9, 0)}, true},
		"dear":           {[]lslbench.Result{ours(1, 0), ours(10.1, 0)}, false},
		"lossy":          {[]lslbench.Result{ours(1, 1)}, false},
		"others may be":  {[]lslbench.Result{{Sender: "liblsl", CPU: 90, Lost: 3}}, true},
		"nothing at all": {nil, true},
	} {
		if err := b.verdict(LSLResult{Runs: c.runs}); (err == nil) != c.ok {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestBenchLSLPrints(t *testing.T) {
	var b strings.Builder
	LSLResult{Commit: "abc", Runs: []lslbench.Result{
		{Sender: "liblsl", Load: lslbench.Load{Readers: 2, InStep: true}, Streams: 9, CPU: 12.34, Sent: 100, Received: 99, Lost: 1, Asked: true, Answers: 5},
	}}.print(&b)
	for _, want := range []string{"commit abc", "liblsl", "in step", "5 answers", "12.3"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestBenchLSLRefuses(t *testing.T) {
	for _, args := range [][]string{{"--participants=0"}, {"--rate=-1"}, {"--readers=0"}, {"--duration=0s"}, {"--out=/nonexistent/x.json"}} {
		if code, _, stderr := run(t, append([]string{"bench", "lsl"}, args...)...); code != 1 || stderr == "" {
			t.Errorf("%v: status %d, %q", args, code, stderr)
		}
	}
}

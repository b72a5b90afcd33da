package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"facetrack/internal/version"
)

// BenchCmd measures facetrack on this machine.
type BenchCmd struct {
	CPU     BenchCPUCmd     `cmd:"" name:"cpu" help:"Five processes without a GPU: frames per second, and four cameras at 30 frames/s."`
	Cameras BenchCamerasCmd `cmd:"" name:"cameras" help:"How many cameras are tracked without a drop, by processes, by threads and with host copies."`
	IPC     BenchIPCCmd     `cmd:"" name:"ipc" help:"How long a frame takes from one process to a kernel of another, by each transport."`
	LSL     BenchLSLCmd     `cmd:"" name:"lsl" help:"What LSL outlets of many participants cost the process that has them, beside the real liblsl."`
	Infer   BenchInferCmd   `cmd:"" name:"infer" help:"How long the networks take on the GPU, and everything from frames to results, beside PyTorch and what the GPU could do at most."`
}

// BenchCPUCmd runs whole rigs on a looped clip, one after the other.
type BenchCPUCmd struct {
	Clip    string        `arg:"" type:"existingfile" help:"Video of one face, 640×480."`
	Out     string        `type:"path" placeholder:"FILE.json" help:"Write the raw numbers."`
	Max     time.Duration `default:"20s" help:"How long each run with --pace max takes."`
	Cameras int           `default:"4" help:"How many cameras at 30 frames/s."`
	Steady  time.Duration `default:"60s" help:"How long the cameras run."`
}

// BenchResult is the content of a file under docs/benchmarks.
type BenchResult struct {
	Commit  string              `json:"commit"`
	Date    time.Time           `json:"date"`
	Machine Machine             `json:"machine"`
	Clip    string              `json:"clip"`
	Runs    map[string]BenchRun `json:"runs"`
	order   []string
}

// BenchRun is one rig that ran.
type BenchRun struct {
	Arguments []string `json:"arguments"`
	CPUs      float64  `json:"cpus"` // CPU seconds of all processes per second
	Summary   Summary  `json:"summary"`
}

// Machine says where a benchmark ran.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
	Driver string `json:"nvidia_driver"`
	Go     string `json:"go"`
}

// Run is `facetrack bench cpu`.
func (b *BenchCPUCmd) Run(ctx context.Context) error {
	if err := claimOut("--out", b.Out); err != nil {
		return err
	}
	result := BenchResult{
		Commit: version.Commit(), Date: time.Now().UTC(), Machine: machine(), Clip: filepath.Base(b.Clip), Runs: map[string]BenchRun{},
	}
	fastest := []string{"--source", b.Clip, "--loop", "--pace", "max", "--duration", b.Max.String()}
	steady := []string{"--loop", "--duration", b.Steady.String()}
	for range b.Cameras {
		steady = append(steady, "--source", b.Clip)
	}
	for _, run := range []struct {
		name string
		args []string
	}{
		{"one camera, as fast as possible, processes", fastest},
		{"one camera, as fast as possible, pixels copied over NATS", append([]string{"--transport", "copy"}, fastest...)},
		{"one camera, as fast as possible, threads", append([]string{"--threads"}, fastest...)},
		{fmt.Sprintf("%d cameras at 30 frames/s, processes", b.Cameras), steady},
	} {
		fmt.Fprintf(os.Stderr, "bench: %s …\n", run.name)
		r, err := benchRig(ctx, run.args)
		if err != nil {
			return fmt.Errorf("%s: %w", run.name, err)
		}
		result.Runs[run.name] = r
		result.order = append(result.order, run.name)
	}
	result.print(os.Stdout)
	return writeOut(b.Out, result)
}

// benchRig runs `facetrack up` as a child and reads its summary.
func benchRig(ctx context.Context, args []string) (BenchRun, error) {
	dir, err := os.MkdirTemp("", "facetrack-bench-")
	if err != nil {
		return BenchRun{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	self, err := os.Executable()
	if err != nil {
		return BenchRun{}, err
	}
	summary := filepath.Join(dir, "summary.json")
	all := append([]string{"up", "--quiet", "--no-lsl", "--rig", "bench", "--listen", "127.0.0.1:-1", "--data-dir", dir, "--summary", summary}, args...)
	cmd := exec.CommandContext(ctx, self, all...) //nolint:gosec // this program
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = os.Stderr
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return BenchRun{}, errors.Join(ctx.Err(), err)
	}
	run := BenchRun{Arguments: make([]string, len(args))}
	for i, a := range args { // where files lie here is nobody's business
		run.Arguments[i] = filepath.Base(a)
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() // with its children, whom it has waited for
	run.CPUs = used.Seconds() / time.Since(begin).Seconds()
	data, err := os.ReadFile(summary) //nolint:gosec // written above
	if err != nil {
		return run, err
	}
	return run, json.Unmarshal(data, &run.Summary)
}

func (r BenchResult) print(out io.Writer) {
	_, _ = fmt.Fprintf(out, "\n%s, %d cores, Linux %s, %s, commit %s\n\n", r.Machine.CPU, r.Machine.Cores, r.Machine.Kernel, r.Machine.Go, r.Commit)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "run\tframes/s\tdropped\tcapture→tracks ms p50\tp99\tCPUs\tmean work ms a frame: capture\tdetect\tlandmarks\ttracker")
	for _, name := range r.order {
		run := r.Runs[name]
		var fps float64
		var dropped uint64
		var p50, p99 float64
		work := map[string]float64{}
		for _, c := range run.Summary.Cameras {
			fps, dropped = fps+c.FPS, dropped+c.TotalDropped()
			p50, p99 = max(p50, c.LatencyMS.CaptureToTracks.P50), max(p99, c.LatencyMS.CaptureToTracks.P99)
			for stage, ms := range c.WorkMS {
				work[stage] = max(work[stage], ms)
			}
		}
		_, _ = fmt.Fprintf(w, "%s\t%.1f\t%d\t%.1f\t%.1f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\n", name, fps, dropped, p50, p99, run.CPUs,
			work["capture"], work["detect"], work["landmarks"], work["tracker"])
	}
	_ = w.Flush()
}

func machine() Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version(), CPU: "unknown", Kernel: "unknown", Driver: "none"}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				m.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile("/sys/module/nvidia/version"); err == nil {
		m.Driver = strings.TrimSpace(string(text))
	}
	return m
}

package ipcbench

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"facetrack/gpuring"
)

// childVariable makes this test program the second process.
const childVariable = "FACETRACK_IPCBENCH_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	_ = os.Setenv(childVariable, "1") // for the children
	os.Exit(m.Run())
}

// small is a run of a second with small frames.
func small(t *testing.T) Options {
	t.Helper()
	dir, err := os.MkdirTemp(gpuring.DefaultDir, "facetrack-ipcbench-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("left behind in the rings' folder: %v, %v", left, err)
		}
		_ = os.RemoveAll(dir)
	})
	return Options{
		Frames: 10, Formats: []gpuring.Format{gpuring.NV12, gpuring.BGR}, Width: 320, Height: 240, Rate: 2000, Readers: []int{1, 2},
		GPU: "off", Dir: dir, MPS: "auto", Quick: true, Child: []string{os.Args[0]}, Commit: "test",
	}
}

func run(t *testing.T, o Options) *Result {
	t.Helper()
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range r.Transports {
		if l.Mismatches+l.Failed > 0 || l.Checked == 0 {
			t.Errorf("%s %s: %d mismatches, %d of %d frames failed: %s", l.Transport, l.Format, l.Mismatches, l.Failed, l.Checked, l.Failure)
		}
		if l.MayStart.Frames == 0 || l.Whole.Frames == 0 || l.MayStart.P50 <= 0 || l.Saturated <= 0 || l.PacedRate <= 0 {
			t.Errorf("%s %s: %+v", l.Transport, l.Format, l)
		}
		ours := !strings.Contains(l.How, "Queue")
		if ours && (l.Message.Frames != l.MayStart.Frames+l.Whole.Frames || l.Message.P50 <= 0 || l.Message.Percentiles[0][1] > l.Whole.Max) {
			t.Errorf("%s %s: messages %+v", l.Transport, l.Format, l.Message)
		}
	}
	if r.Mismatches() != 0 {
		t.Errorf("%d frames were wrong", r.Mismatches())
	}
	return r
}

func TestWithoutGPU(t *testing.T) {
	r := run(t, small(t))
	var names []string
	for _, l := range r.Transports {
		names = append(names, l.Transport+" "+l.Format)
		if l.BytesUp != 0 || l.BytesDown != 0 {
			t.Errorf("%s %s: %v bytes to a GPU that is not there", l.Transport, l.Format, l.BytesUp)
		}
	}
	want := "shm NV12, nats message NV12, nats copy NV12, shm BGR, nats message BGR, nats copy BGR"
	if got := strings.Join(names, ", "); got != want {
		t.Errorf("ran %s, want %s", got, want)
	}
	if r.GPU != nil || r.Looks != "CPU" || len(r.PCIe)+len(r.Uploads)+len(r.Overlap)+len(r.Targets) > 0 {
		t.Errorf("figures of a GPU without one: %+v", r)
	}
	skipped := map[string]string{}
	for _, n := range r.NotRun {
		skipped[n.Name] = n.Reason
	}
	for _, name := range []string{Auto, Events, MemOps, "shm pageable", TorchQueue, TorchPipe, "pickled numpy", whatUploads, whatOverlap, whatBytes} {
		if skipped[name] != "the GPU is switched off" {
			t.Errorf("not run: %q because of %q", name, skipped[name])
		}
	}
	var text bytes.Buffer
	if err := r.Print(&text); err != nil || !strings.Contains(text.String(), "not run: cuda-ipc events: the GPU is switched off") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// The file's keys are what docs/benchmarks and other programs read.
func TestResultAsJSON(t *testing.T) {
	data, err := json.Marshal(run(t, small(t)))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Commit     string
		Date       string
		Machine    map[string]any
		Parameters map[string]any
		Transports []map[string]any
		NotRun     []map[string]string `json:"not_run"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if file.Commit != "test" || file.Date == "" || len(file.Transports) != 6 || len(file.NotRun) != 10 || file.NotRun[0]["name"] != Auto || file.Parameters["width"] != 320.0 {
		t.Errorf("%+v", file)
	}
	for _, key := range []string{"name", "format", "how", "frame_bytes", "ready", "whole", "fps", "mismatches", "bytes_to_gpu_per_frame"} {
		if _, ok := file.Transports[0][key]; !ok {
			t.Errorf("no %q in %v", key, file.Transports[0])
		}
	}
	figure, _ := file.Transports[0]["ready"].(map[string]any)
	for _, key := range []string{"p50_us", "p90_us", "p99_us", "max_us"} {
		if us, ok := figure[key].(float64); !ok || us <= 0 {
			t.Errorf("no %q in %v", key, figure)
		}
	}
	points, _ := figure["percentiles_us"].([]any)
	if len(points) != len(percents) {
		t.Errorf("percentiles: %v", figure)
	}
}

func TestOptions(t *testing.T) {
	for name, spoil := range map[string]func(*Options){
		"no frames":   func(o *Options) { o.Frames = 0 },
		"no rate":     func(o *Options) { o.Rate = 0 },
		"no format":   func(o *Options) { o.Formats = nil },
		"bad format":  func(o *Options) { o.Formats = []gpuring.Format{"RGBA"} },
		"no child":    func(o *Options) { o.Child = nil },
		"25 readers":  func(o *Options) { o.Readers = []int{gpuring.MaxReaders + 1} },
		"no readers":  func(o *Options) { o.Readers = []int{0} },
		"no geometry": func(o *Options) { o.Width = 0 },
	} {
		o := small(t)
		spoil(&o)
		if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), ErrOptions.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

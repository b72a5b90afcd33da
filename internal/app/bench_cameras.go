package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"facetrack/internal/nvml"
	"facetrack/internal/version"
)

// BenchCamerasCmd finds out how many cameras this machine tracks without a drop.
type BenchCamerasCmd struct {
	Clip    string        `arg:"" type:"path" help:"Recording that every camera plays, decoded and scaled once: film, GIF or folder of pictures."`
	Mode    []string      `default:"processes,threads,host-copy" enum:"processes,threads,host-copy" help:"Rigs to measure: ${enum}. With host-copy each stage uploads the frame for itself."`
	Size    string        `default:"1920x1080" help:"Of a frame, px."`
	Format  string        `default:"NV12" help:"Pixel format."`
	FPS     float64       `name:"fps" default:"30" help:"Frames per second of each camera."`
	Frames  int           `default:"90" help:"Frames of the recording that are kept in memory."`
	Cameras int           `placeholder:"N" help:"Measure with so many cameras, and do not search."`
	Most    int           `default:"256" help:"Search no further."`
	Trial   time.Duration `default:"10s" help:"How long each step of the search takes."`
	Hold    time.Duration `default:"60s" help:"How long the result has to hold."`
	Limit   time.Duration `default:"33ms" help:"Longest time from capture to tracks that 99 of 100 frames may take."`
	MPS     string        `name:"mps" default:"auto" enum:"auto,on,off" help:"What the result says about NVIDIA's Multi-Process Service; auto looks."`
	Awake   bool          `help:"Keep the CPUs from sleeping between frames, as 'up --awake' does."`
	Out     string        `aliases:"json" type:"path" placeholder:"FILE.json" help:"Write the raw numbers."`
	More    []string      `name:"up" placeholder:"FLAG" help:"More flags of 'facetrack up' for every run, as --up=--model=blazeface."`
}

// CamerasResult is the content of docs/benchmarks/cameras.json.
type CamerasResult struct {
	Commit  string       `json:"commit"`
	Date    time.Time    `json:"date"`
	Machine Machine      `json:"machine"`
	MPS     bool         `json:"mps"`
	Awake   bool         `json:"awake"`
	Clip    string       `json:"clip"`
	Size    string       `json:"size"`
	Format  string       `json:"format"`
	FPS     float64      `json:"fps"`
	LimitMS float64      `json:"limit_ms"`
	Modes   []CamerasRun `json:"modes"`
}

// CamerasRun is what one kind of rig does.
type CamerasRun struct {
	Mode   string        `json:"mode"`
	Held   int           `json:"cameras"` // so many it tracks without a drop and within the limit; 0: not even one
	Final  CamerasStep   `json:"final"`   // the long run
	Search []CamerasStep `json:"search"`  // all runs
}

// CamerasStep is one run.
type CamerasStep struct {
	Cameras   int               `json:"cameras"`
	OK        bool              `json:"ok"` // no drop, and within the limit
	Seconds   float64           `json:"seconds"`
	Captured  uint64            `json:"captured"`
	Tracked   uint64            `json:"tracked"`
	Dropped   map[string]uint64 `json:"dropped"`
	Faces     float64           `json:"faces_per_frame"`
	FPS       float64           `json:"fps"` // of all cameras together
	P50       float64           `json:"p50_ms"`
	P95       float64           `json:"p95_ms"`
	P99       float64           `json:"p99_ms"`
	CPUs      float64           `json:"cpus"` // CPU seconds of all processes per second
	GPU       *GPUUse           `json:"gpu,omitempty"`
	Backends  map[string]string `json:"backends"`
	Transport map[string]int    `json:"transports"` // links by transport
}

// Run is `facetrack bench cameras`.
func (b *BenchCamerasCmd) Run(ctx context.Context) error {
	if _, err := os.Stat(b.Clip); err != nil {
		return fmt.Errorf("the recording: %w", err)
	}
	result := CamerasResult{
		Commit: version.Commit(), Date: time.Now().UTC(), Machine: machine(), Awake: b.Awake, Clip: filepath.Base(b.Clip), Size: b.Size,
		Format: b.Format, FPS: b.FPS, LimitMS: float64(b.Limit.Microseconds()) / 1000, MPS: b.MPS == "on" || b.MPS == "auto" && nvml.FindMPS().Running,
	}
	for _, mode := range b.Mode {
		run, err := b.mode(ctx, mode)
		if err != nil {
			return fmt.Errorf("%s: %w", mode, err)
		}
		result.Modes = append(result.Modes, run)
	}
	result.print(os.Stdout)
	if b.Out == "" {
		return nil
	}
	data, err := json.MarshalIndent(result, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(b.Out, append(data, '\n'), 0o600)
}

// mode searches for the number of cameras and lets it hold; one that does not is lowered until it does.
func (b *BenchCamerasCmd) mode(ctx context.Context, mode string) (CamerasRun, error) {
	run := CamerasRun{Mode: mode}
	step := func(n int, d time.Duration) (bool, error) {
		s, err := b.step(ctx, mode, n, d)
		if err != nil {
			return false, fmt.Errorf("%d cameras: %w", n, err)
		}
		s.OK = s.Captured > 0 && s.Captured == s.Tracked && s.P99 <= float64(b.Limit.Microseconds())/1000
		fmt.Fprintf(os.Stderr, "bench: %s, %d cameras, %.0f s: %.1f frames/s, %d dropped, p99 %.1f ms\n", mode, n, s.Seconds, s.FPS, s.Captured-s.Tracked, s.P99)
		run.Final = s
		run.Search = append(run.Search, s)
		return s.OK, nil
	}
	n := b.Cameras
	if n == 0 {
		var err error
		if n, err = largest(b.Most, func(n int) (bool, error) { return step(n, b.Trial) }); err != nil {
			return run, err
		}
	}
	for ; n > 0; n -= max(1, n/16) {
		ok, err := step(n, b.Hold)
		if err != nil {
			return run, err
		}
		if ok {
			run.Held = n
			break
		}
		if b.Cameras > 0 {
			break
		}
	}
	return run, nil
}

// largest finds the largest number up to most that holds, to a sixteenth: doubled until one does not, then halved between. 0:
// not even one.
func largest(most int, holds func(n int) (bool, error)) (int, error) {
	good, bad := 0, most+1
	for n := 1; good < most && bad-good > max(1, good/16); {
		ok, err := holds(n)
		if err != nil {
			return 0, err
		}
		if ok {
			good = n
		} else {
			bad = n
		}
		n = (good + bad) / 2
		if bad > most {
			n = min(2*good, most)
		}
	}
	return good, nil
}

func (b *BenchCamerasCmd) step(ctx context.Context, mode string, cameras int, d time.Duration) (CamerasStep, error) {
	clip, err := filepath.Abs(b.Clip)
	if err != nil {
		return CamerasStep{}, err
	}
	args := []string{"--loop", "--duration", d.String()}
	for i := range cameras { // each begins elsewhere, so that they do not all have the same picture
		args = append(args, "--source", fmt.Sprintf("memory:size=%s,format=%s,frames=%d,start=%d:%s", b.Size, b.Format, b.Frames, i*7%b.Frames, clip))
	}
	switch mode {
	case "threads":
		args = append(args, "--threads")
	case "host-copy":
		args = append(args, "--transport", "shm")
	}
	if b.Awake {
		args = append(args, "--awake")
	}
	args = append(args, fmt.Sprintf("--fps=%g", b.FPS))
	watch := watchGPU()
	run, err := benchRig(ctx, append(args, b.More...))
	use := watch.end()
	if err != nil {
		return CamerasStep{}, err
	}
	return stepOf(cameras, run, use), nil
}

func stepOf(cameras int, run BenchRun, use *GPUUse) CamerasStep {
	s := CamerasStep{
		Cameras: cameras, Seconds: run.Summary.DurationS, CPUs: run.CPUs, GPU: use, Dropped: map[string]uint64{},
		Backends: run.Summary.Backends, Transport: map[string]int{},
	}
	var faces uint64
	for _, c := range run.Summary.Cameras {
		s.Captured, s.Tracked, faces, s.FPS = s.Captured+c.Captured, s.Tracked+c.Tracked, faces+c.Faces, s.FPS+c.FPS
		for reason, n := range c.Dropped {
			s.Dropped[reason] += n
		}
		for _, l := range c.Links {
			s.Transport[l.Transport]++
		}
	}
	s.Faces = float64(faces) / float64(max(1, s.Tracked))
	all := run.Summary.LatencyMS.CaptureToTracks
	s.P50, s.P95, s.P99 = all.P50, all.P95, all.P99
	return s
}

func (r CamerasResult) print(out io.Writer) {
	_, _ = fmt.Fprintf(out, "\n%s %s at %g frames/s, %s, %d cores, driver %s, MPS %v, commit %s\n\n", r.Size, r.Format, r.FPS, r.Machine.CPU, r.Machine.Cores,
		r.Machine.Driver, r.MPS, r.Commit)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "rig\tcameras\tframes/s\tdropped\tcapture→tracks ms p50\tp95\tp99\tGPU %\tPCIe up MB/frame\tdown\tCPUs\ttransports")
	for _, m := range r.Modes {
		f := m.Final
		gpu, up, down := "-", "-", "-"
		if f.GPU != nil {
			gpu = fmt.Sprintf("%.0f", f.GPU.Percent)
			frames := float64(max(1, f.Captured)) / f.Seconds
			up, down = fmt.Sprintf("%.2f", f.GPU.UpMBps/frames), fmt.Sprintf("%.2f", f.GPU.DownMBps/frames)
		}
		var transports []string
		for t, n := range f.Transport {
			transports = append(transports, fmt.Sprintf("%s×%d", t, n))
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%.1f\t%d\t%.1f\t%.1f\t%.1f\t%s\t%s\t%s\t%.2f\t%s\n", m.Mode, m.Held, f.FPS, f.Captured-f.Tracked, f.P50, f.P95, f.P99,
			gpu, up, down, f.CPUs, strings.Join(transports, " "))
	}
	_ = w.Flush()
}

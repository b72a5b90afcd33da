package app

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"facetrack/internal/nvml"
	"facetrack/internal/version"
)

// BenchCamerasCmd finds out how many cameras this machine tracks without a drop.
type BenchCamerasCmd struct {
	Clip      string        `arg:"" type:"path" help:"Recording that every camera plays, decoded and scaled once: film, GIF or folder of pictures."`
	Mode      []string      `default:"processes,threads,host-copy" enum:"processes,threads,host-copy" help:"Rigs to measure: ${enum}. With host-copy each stage uploads the frame for itself."`
	Backend   string        `default:"auto" help:"Inference: auto, cpu, cuda or reference."`
	Infer     string        `name:"infer-mode" default:"balanced" help:"How long frames wait on a GPU for those of other cameras: latency, balanced or throughput."`
	Precision string        `name:"precision" default:"auto" help:"Of the networks: auto, fp16 or fp32."`
	Size      string        `default:"1920x1080" help:"Of a frame, px."`
	Format    string        `default:"NV12" help:"Pixel format."`
	FPS       float64       `name:"fps" default:"30" help:"Frames per second of each camera."`
	Frames    int           `default:"90" help:"Frames of the recording that are kept in memory."`
	Cameras   int           `placeholder:"N" help:"Measure with so many cameras, and do not search; fail when they are not held."`
	From      int           `default:"1" help:"The first step of the search."`
	Most      int           `default:"512" help:"Search no further."`
	Trial     time.Duration `default:"10s" help:"How long each step of the search takes."`
	Hold      time.Duration `default:"60s" help:"How long the result has to hold."`
	Limit     time.Duration `default:"33ms" help:"Longest time from capture to tracks that 99 of 100 frames may take."`
	InStep    bool          `help:"All cameras take their frames at the same instants, as with a hardware trigger; else they are spread over a frame's time, as cameras that nobody synchronises."`
	MPS       string        `name:"mps" default:"auto" enum:"auto,on,off" help:"Fail when NVIDIA's Multi-Process Service does not run (on) or runs (off)."`
	Awake     bool          `help:"Keep the CPUs from sleeping between frames, as 'up --awake' does."`
	AtLeast   int           `placeholder:"N" help:"Fail when processes or threads hold fewer cameras."`
	Ratio     float64       `placeholder:"X" help:"Fail when processes hold fewer than X times the cameras of host-copy, if both were measured."`
	Out       string        `aliases:"json" type:"path" placeholder:"FILE.json" help:"Write the raw numbers."`
	More      []string      `name:"up" placeholder:"FLAG" help:"More flags of 'facetrack up' for every run, as --up=--model=blazeface."`

	rig func(ctx context.Context, args []string) (BenchRun, error) // nil: benchRig
}

// Run is `facetrack bench cameras`.
func (b *BenchCamerasCmd) Run(ctx context.Context) error {
	if err := b.check(); err != nil {
		return err
	}
	mps, err := mpsAs(b.MPS, nvml.FindMPS())
	if err != nil {
		return err
	}
	if err := claimOut("--out", b.Out); err != nil {
		return err
	}
	kept, err := b.kept(ctx)
	if err != nil {
		return fmt.Errorf("the recording: %w", err)
	}
	result := CamerasResult{
		Commit: version.Commit(), Date: time.Now().UTC(), Machine: machine(), Awake: b.Awake, Clip: filepath.Base(b.Clip), Kept: kept, Size: b.Size,
		Format: b.Format, FPS: b.FPS, LimitMS: milliseconds(b.Limit), MPS: mps, InStep: b.InStep, Backend: b.Backend, Infer: b.Infer, Precision: b.Precision,
	}
	err = b.measure(ctx, &result)
	result.print(os.Stdout)
	if err != nil {
		return err
	}
	return b.verdict(result)
}

func (b *BenchCamerasCmd) measure(ctx context.Context, result *CamerasResult) error {
	for _, mode := range b.Mode {
		result.Modes = append(result.Modes, CamerasRun{Mode: mode})
		save := func() error { return writeOut(b.Out, result) } // whatever ends the search, what was measured is kept
		if err := b.mode(ctx, &result.Modes[len(result.Modes)-1], save); err != nil {
			return fmt.Errorf("%s: %w", mode, err)
		}
	}
	return nil
}

// mode searches for the number of cameras and lets it hold; one that does not is lowered until it does. After each run it saves.
func (b *BenchCamerasCmd) mode(ctx context.Context, run *CamerasRun, save func() error) error {
	step := func(n int, d time.Duration) (bool, error) {
		s, err := b.step(ctx, run.Mode, n, d)
		if err != nil {
			return false, fmt.Errorf("%d cameras: %w", n, err)
		}
		outcome := "held"
		if !s.OK {
			outcome = "not held: " + s.WhyNot
		}
		fmt.Fprintf(os.Stderr, "bench: %s, %d cameras, %.0f s: %.1f frames/s, %d dropped, p99 %.1f ms; %s\n", run.Mode, n, s.HoldS, s.FPS, s.Captured-s.Tracked, s.P99, outcome)
		run.Final = s
		run.Search = append(run.Search, s)
		return s.OK, save()
	}
	n := b.Cameras
	if n == 0 {
		var err error
		if n, err = largest(b.From, b.Most, func(n int) (bool, error) { return step(n, b.Trial) }); err != nil {
			return err
		}
	}
	for ; n > 0; n -= max(1, n/16) {
		ok, err := step(n, b.Hold)
		if err != nil {
			return err
		}
		if ok {
			run.Held = n
			return save()
		}
		if b.Cameras > 0 {
			break
		}
	}
	return nil
}

// largest finds the largest number up to most that holds, to a sixteenth: from the first one on doubled until one does not, then halved
// between. 0: not even one.
func largest(from, most int, holds func(n int) (bool, error)) (int, error) {
	good, bad := 0, most+1
	for n := min(max(1, from), most); good < most && bad-good > max(1, good/16); {
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

// arguments are those of 'facetrack up' but for the cameras.
func (b *BenchCamerasCmd) arguments(mode string, d time.Duration) []string {
	args := []string{
		"--loop", "--duration", d.String(), fmt.Sprintf("--fps=%g", b.FPS),
		"--backend", b.Backend, "--infer-mode", b.Infer, "--precision", b.Precision,
	}
	switch mode {
	case "threads":
		args = append(args, "--threads")
	case "host-copy":
		args = append(args, "--transport", "shm", "--transport", "copy")
	}
	if b.Awake {
		args = append(args, "--awake")
	}
	return append(args, b.More...)
}

// source is camera i. Each begins elsewhere in the recording, so that they do not all have the same picture.
func (b *BenchCamerasCmd) source(i int, clip string) string {
	phase := 0.0
	if !b.InStep {
		_, phase = math.Modf(float64(i) * math.Phi) // however many there are, they are spread evenly
	}
	return fmt.Sprintf("memory:size=%s,format=%s,frames=%d,start=%d,phase=%.4f:%s", b.Size, b.Format, b.Frames, i*7%b.Frames, phase, clip)
}

func (b *BenchCamerasCmd) step(ctx context.Context, mode string, cameras int, d time.Duration) (CamerasStep, error) {
	clip, err := filepath.Abs(b.Clip)
	if err != nil {
		return CamerasStep{}, err
	}
	args := b.arguments(mode, d)
	for i := range cameras {
		args = append(args, "--source", b.source(i, clip))
	}
	rig := b.rig
	if rig == nil {
		rig = benchRig
	}
	watch := watchGPU()
	run, err := rig(ctx, args)
	use := watch.end()
	switch {
	case ctx.Err() != nil:
		return CamerasStep{}, ctx.Err()
	case err != nil: // fewer cameras may do: the search goes on
		return CamerasStep{Cameras: cameras, HoldS: d.Seconds(), WhyNot: fmt.Sprintf("the rig failed: %v", err)}, nil
	}
	s := stepOf(cameras, d, run, use)
	s.WhyNot = b.whyNot(mode, s, run.Summary)
	s.OK = s.WhyNot == ""
	return s, nil
}

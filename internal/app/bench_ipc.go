package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"facetrack/gpuring"
	"facetrack/internal/ipcbench"
	"facetrack/internal/version"
)

// BenchIPCCmd compares the ways of a frame from one process to the other.
type BenchIPCCmd struct {
	Frames  int      `placeholder:"N" help:"Paced frames of each transport and format: 1500, with --quick 150."`
	Formats []string `default:"NV12,BGR" help:"Pixel formats."`
	Size    string   `default:"1920x1080" help:"Of a frame, px."`
	Rate    int      `default:"200" help:"Paced frames per second."`
	Readers []int    `default:"1,2,4,9" help:"Numbers of processes with which the bytes of a frame are counted; with --quick those above 2 are computed."`
	JSON    string   `name:"json" aliases:"out" type:"path" placeholder:"FILE" help:"Write the raw numbers."`
	GPU     string   `name:"gpu" default:"auto" help:"auto, off, a number or a UUID."`
	Dir     string   `placeholder:"DIR" type:"path" help:"Folder of the rings."`
	Python  string   `default:"python3" help:"Python with PyTorch; empty: without."`
	Script  string   `name:"script" aliases:"torch-script" type:"path" placeholder:"FILE" help:"The PyTorch side, torch_ipc.py; else looked for in scripts/bench and beside the program."`
	MPS     string   `name:"mps" default:"auto" enum:"auto,on,off" help:"Whether NVIDIA's Multi-Process Service is in use; auto looks."`
	Awake   bool     `help:"Keep the CPUs from sleeping between frames, as 'up --awake' does."`
	Quick   bool     `help:"A rehearsal: few frames."`
	Second  bool     `hidden:"" help:"Be the second process (used by 'bench ipc')."`
}

var errWrongFrames = errors.New("frames were not what had been written, or could not be read: see the table")

// Run is `facetrack bench ipc`. It fails when a single frame was wrong.
func (b *BenchIPCCmd) Run(ctx context.Context) error {
	if b.Second {
		return ipcbench.Serve(os.Stdin, os.Stdout)
	}
	if err := claimOut("--json", b.JSON); err != nil {
		return err
	}
	o, err := b.options()
	if err != nil {
		return err
	}
	keeper, err := keepAwake(b.Awake)
	if err != nil {
		return err
	}
	defer func() { _ = keeper.Close() }()
	result, err := ipcbench.Run(ctx, o)
	if err != nil {
		return err
	}
	if err := result.Print(os.Stdout); err != nil {
		return err
	}
	if err := writeOut(b.JSON, result); err != nil {
		return err
	}
	if result.Mismatches() > 0 {
		return errWrongFrames
	}
	return nil
}

func (b *BenchIPCCmd) options() (o ipcbench.Options, err error) {
	self, err := os.Executable()
	if err != nil {
		return o, err
	}
	m := machine()
	o = ipcbench.Options{
		Frames: b.Frames, Rate: b.Rate, Readers: b.Readers, GPU: b.GPU, Dir: b.Dir, Python: b.Python, MPS: b.MPS, Quick: b.Quick, Awake: b.Awake,
		Child: []string{self, "bench", "ipc", "--second"}, Commit: version.Commit(), Progress: os.Stderr,
		Machine: ipcbench.Machine{CPU: m.CPU, Cores: m.Cores, Kernel: m.Kernel, Go: m.Go},
	}
	o.Machine.Memory()
	for _, f := range b.Formats {
		o.Formats = append(o.Formats, gpuring.Format(strings.ToUpper(f)))
	}
	if _, err := fmt.Sscanf(b.Size, "%dx%d", &o.Width, &o.Height); err != nil {
		return o, fmt.Errorf("--size %q: give width and height as 1920x1080", b.Size)
	}
	if o.Frames == 0 {
		o.Frames = map[bool]int{false: 1500, true: 150}[b.Quick]
	}
	if b.Quick {
		few := func(n int) bool { return n <= 2 }
		o.Computed = slices.DeleteFunc(slices.Clone(b.Readers), few)
		o.Readers = slices.DeleteFunc(slices.Clone(b.Readers), func(n int) bool { return !few(n) })
	}
	if b.Python != "" {
		o.Script = b.script(self)
	}
	return o, nil
}

// script is the PyTorch side: as told, else in the sources' folder, the one that one is in or that of the program.
func (b *BenchIPCCmd) script(self string) string {
	if b.Script != "" {
		return b.Script
	}
	return besideProgram(self, "torch_ipc.py")
}

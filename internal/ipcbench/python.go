package ipcbench

import (
	"context"
	"fmt"
	"os"

	"facetrack/gpuring"
)

// python is the process that compares with PyTorch: producer and consumer are Python's.
type python struct {
	*child
	Torch string
	CUDA  string
}

// pythonOrder is a line to it.
type pythonOrder struct {
	Op        string  `json:"op"`
	Transport string  `json:"transport"`
	Bytes     int     `json:"bytes"` // of a frame
	Frames    int     `json:"frames"`
	WarmUp    int     `json:"warm_up"`
	LimitS    float64 `json:"limit_s"`
	IntervalS float64 `json:"interval_s"`
	Window    int     `json:"window"`
	Timed     bool    `json:"timed"`
}

// pythonAnswer is its line.
type pythonAnswer struct {
	Error   string  `json:"error"`
	Torch   string  `json:"torch"`
	CUDA    string  `json:"cuda"`
	Read    tally   `json:"read"`
	Seconds float64 `json:"seconds"`
	Counted int     `json:"counted"`
	Up      int64   `json:"producer_up"`
}

// startPython starts it without waiting: importing PyTorch takes seconds.
func startPython(o Options, uuid string) (*python, error) {
	if o.Script == "" {
		return nil, fmt.Errorf("no script: --script names scripts/bench/torch_ipc.py")
	}
	if _, err := os.Stat(o.Script); err != nil {
		return nil, fmt.Errorf("the script is not here: %w: --script names it", err)
	}
	c, err := startChild("Python", []string{o.Python, "-u", o.Script, "--gpu", uuid})
	if err != nil {
		return nil, err
	}
	return &python{child: c}, nil
}

// ready waits until PyTorch is there.
func (p *python) ready(ctx context.Context) error {
	var a pythonAnswer
	if err := p.hear(ctx, &a); err != nil {
		return err
	}
	if a.Error != "" {
		return fmt.Errorf("%s", a.Error)
	}
	p.Torch, p.CUDA = a.Torch, a.CUDA
	return nil
}

// pythonRunner makes rounds of one of its transports.
type pythonRunner struct {
	p     *python
	name  string
	shape gpuring.Geometry
}

func (r *pythonRunner) run(ctx context.Context, s spec) (outcome, error) {
	var a pythonAnswer
	err := r.p.ask(ctx, pythonOrder{
		Op: opRound, Transport: r.name, Bytes: r.shape.FrameBytes(), Frames: s.frames, WarmUp: s.warmUp, LimitS: s.limit.Seconds(),
		IntervalS: s.interval.Seconds(), Window: s.window, Timed: s.timed,
	}, &a)
	if err == nil && a.Error != "" {
		err = fmt.Errorf("python: %s: %s", r.name, a.Error)
	}
	return outcome{tally: a.Read, Seconds: a.Seconds, Counted: a.Counted, UpHere: a.Up}, err
}

package doctor

import (
	"context"
	"time"

	"facetrack/internal/config"
	"facetrack/internal/cuda"
)

// Options say what to examine.
type Options struct {
	Config config.Config // ring, cameras and cuda are looked at
	Child  []string      // a command that ends in Serve with its standard input and output
	// Timeout is how long the child may take for one step; it is killed then. 0: 20 s, as the first CUDA context of a machine
	// can take long.
	Timeout time.Duration
	Root    string // in front of /proc, /sys and /dev, for tests
}

// doctor is one examination.
type doctor struct {
	o      Options
	ctx    context.Context
	report Report

	found   bool // a GPU that may be used: device
	device  cuda.Device
	without string        // why there is none
	gpu     *cuda.Context // nil when it cannot be opened
}

// Run examines the machine. ctx ends it early: what was not done then fails.
func Run(ctx context.Context, o Options) Report {
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	d := &doctor{o: o, ctx: ctx, report: Report{RoundTrips: map[string]Trip{}}}
	defer func() { _ = d.gpu.Close() }()
	for _, c := range []struct {
		name string
		look func() Check
	}{
		{"build", d.build},
		{"driver", d.driver},
		{"GPUs", d.devices},
		{"compute capability", d.capability},
		{"MIG", d.mig},
		{"compute mode", d.computeMode},
		{"MPS", d.mps},
		{"memory of its own", d.integrated},
		{"PCIe link", d.link},
		{"WSL2", d.wsl},
		{"device files", d.deviceFiles},
		{"ring folder", d.ringFolder},
		{"ring space", d.ringSpace},
		{"file locks", d.fileLocks},
		{"namespaces", d.namespaces},
		{"GPU context", d.open},
		{"page-locked memory", d.lockedMemory},
	} {
		d.add(c.name, c.look())
	}
	d.roundTrips()
	d.conclude()
	return d.report
}

func (d *doctor) add(name string, c Check) {
	c.Name = name
	d.report.Checks = append(d.report.Checks, c)
}

// onGPU is a check that needs a GPU.
func (d *doctor) onGPU(look func() Check) Check {
	if !d.found {
		return skipped("no GPU is used")
	}
	return look()
}

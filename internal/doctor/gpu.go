package doctor

import (
	"errors"
	"fmt"
	"strings"

	"facetrack/internal/cuda"
	"facetrack/internal/nvml"
)

const (
	oldestMajor = 7 // compute capability of the kernels
	oldestMinor = 5
	thor        = 10 // of the first integrated GPUs with memory IPC

	modeBack = "set it back with nvidia-smi -c 0"
)

// manage asks the management library, whose answers are nice to have.
func manage(ask func(l *nvml.Library) error) error {
	l, err := nvml.Open()
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	return ask(l)
}

// link tells how frames get to the GPU. Idle GPUs show a lower generation than they have, and virtual machines any width.
func (d *doctor) link() Check {
	return d.onGPU(func() (c Check) {
		err := manage(func(l *nvml.Library) error {
			g, err := l.Device(d.device.ID())
			if err != nil {
				return err
			}
			v, err := g.Link()
			c = ok(fmt.Sprintf("generation %d of %d, ×%d of ×%d", v.Generation, v.MaxGeneration, v.Width, v.MaxWidth))
			return err
		})
		if err != nil {
			return skipped(err.Error())
		}
		return c
	})
}

func (d *doctor) devices() Check {
	if d.without != "" {
		return skipped(d.without)
	}
	healthy, sick, err := cuda.Survey()
	if err != nil {
		d.without = "the NVIDIA driver does not tell its GPUs"
		return failed("", err)
	}
	var names []string
	for _, v := range healthy {
		names = append(names, fmt.Sprintf("%d: %s, %d GiB, PCI %s, %s", v.Ordinal, v.Name, v.Memory>>30, v.PCI, v.ID()))
	}
	for _, v := range sick {
		names = append(names, fmt.Sprintf("%d: sick (%v)", v.Ordinal, v.Err))
	}
	seen := strings.Join(names, "; ")
	if d.device, err = cuda.SelectDevice(d.o.Config.CUDA.GPU); err != nil {
		return d.noDevice(seen, err)
	}
	d.found = true
	if len(names) > 1 {
		seen += fmt.Sprintf("; used: %d", d.device.Ordinal)
	}
	if len(sick) > 0 {
		return warn(seen, fmt.Sprintf("GPU %d: %s", sick[0].Ordinal, cureOf(sick[0].Err)))
	}
	return ok(seen)
}

// noDevice says why none of the GPUs that were seen is used.
func (d *doctor) noDevice(seen string, err error) Check {
	wanted := d.o.Config.CUDA.GPU
	var sick *cuda.Error
	switch {
	case !errors.Is(err, cuda.ErrNoSuchDevice) && errors.As(err, &sick):
		d.without = "the GPU is sick"
		return fail(seen+"; configured: "+wanted, cureOf(err))
	case wanted == "auto" && seen != "": // that takes any GPU that may be used at all
		d.without = "no GPU may be used"
		return fail(seen+"; no program may use them: compute mode prohibited", modeBack)
	}
	d.without = fmt.Sprintf("the configured GPU %q cannot be used", wanted)
	return fail(seen+"; configured: "+wanted, "set cuda.gpu to auto, or to the number or the UUID of one of these ("+err.Error()+")")
}

func (d *doctor) capability() Check {
	return d.onGPU(func() Check {
		major, minor := d.device.Major, d.device.Minor
		seen := fmt.Sprintf("%d.%d", major, minor)
		if major < oldestMajor || major == oldestMajor && minor < oldestMinor {
			return fail(seen+", the kernels need 7.5", "use a GPU of the Turing generation or younger, or set cuda.gpu to off")
		}
		return ok(seen)
	})
}

func (d *doctor) mig() Check {
	return d.onGPU(func() Check {
		if d.device.MIG {
			return fail(d.device.ID()+" is a MIG instance, and those cannot share memory between processes",
				"switch MIG off (nvidia-smi -mig 0), or use facetrack up --threads")
		}
		return ok("off")
	})
}

func (d *doctor) computeMode() Check {
	return d.onGPU(func() Check {
		switch nvml.ComputeMode(d.device.ComputeMode) {
		case nvml.ModeDefault:
			return ok("default: any number of processes")
		case nvml.ModeProhibited:
			return fail("prohibited: no process may use the GPU", modeBack)
		}
		if m := nvml.FindMPS(); m.Running {
			return ok("exclusive, through MPS")
		}
		return fail("exclusive: one process at a time may use the GPU", modeBack+", or start nvidia-cuda-mps-control -d")
	})
}

func (d *doctor) mps() Check {
	return d.onGPU(func() Check {
		m := nvml.FindMPS()
		if !m.Running {
			return ok("not running (" + m.Reason + "): processes take turns on the GPU")
		}
		return ok("running (" + m.Reason + "): a process that is killed while a kernel of it runs takes the other clients' contexts along")
	})
}

func (d *doctor) integrated() Check {
	return d.onGPU(func() Check {
		switch {
		case !d.device.Integrated:
			return ok("yes")
		case d.device.Major >= thor:
			return ok("no, but this generation shares it between processes")
		}
		return warn("no: the GPU uses the CPU's memory, as on a Jetson, and cannot share it between processes",
			"use facetrack up --threads: within one process the GPU's memory is shared without IPC")
	})
}

// sharable tells why the device's memory cannot be shared between processes; "" when it can be tried.
func (d *doctor) sharable() string {
	switch {
	case !d.found:
		return "no GPU is used"
	case d.device.MIG:
		return "a MIG instance cannot share memory"
	case d.device.Integrated && d.device.Major < thor:
		return "an integrated GPU cannot share memory"
	}
	return ""
}

// open makes the context that the rest is tried with.
func (d *doctor) open() Check {
	return d.onGPU(func() (c Check) {
		var err error
		if d.gpu, err = cuda.Open(d.device); err != nil {
			return failed("", err)
		}
		free, total, err := d.gpu.MemInfo()
		if err != nil {
			return failed("", err)
		}
		return ok(fmt.Sprintf("made; %.1f of %.1f GiB of its memory are free", gib(free), gib(total)))
	})
}

func gib(bytes int64) float64 { return float64(bytes) / (1 << 30) }

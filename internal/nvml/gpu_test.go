//go:build cuda && gpu

package nvml_test

import (
	"errors"
	"strings"
	"testing"

	"facetrack/internal/nvml"
)

// show logs what the real library says; a GPU may lack a feature, but nothing else may go wrong.
func show[T any](t *testing.T, what string, f func() (T, error)) T {
	t.Helper()
	v, err := f()
	if err != nil && !errors.Is(err, nvml.ErrNotSupported) {
		t.Errorf("%s: %v", what, err)
	}
	t.Logf("%s: %+v %v", what, v, err)
	return v
}

func TestRealGPU(t *testing.T) {
	l, err := nvml.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if v := show(t, "driver", l.Driver); !strings.Contains(v, ".") {
		t.Errorf("driver version %q", v)
	}
	all := show(t, "devices", l.Devices)
	if len(all) == 0 {
		t.Fatal("no GPU")
	}
	for _, d := range all {
		same, err := l.Device(d.UUID)
		if err != nil || same.PCI != d.PCI {
			t.Errorf("%s: %+v %v", d.UUID, same, err)
		}
		if m := show(t, "memory", d.Memory); m.Total < 1<<30 || m.Used <= 0 || m.Used > m.Total {
			t.Errorf("memory %+v", m)
		}
		show(t, "processes", d.Processes)
		show(t, "MIG", d.MIG)
		show(t, "compute mode", d.ComputeMode)
		show(t, "PCIe link", d.Link)
		show(t, "PCIe throughput", d.Throughput)
		show(t, "PCIe traffic", d.Traffic)
		show(t, "utilization", d.Utilization)
		show(t, "degrees", d.Temperature)
		show(t, "watts", d.Power)
	}
	t.Logf("MPS: %+v", nvml.FindMPS())
}

package ipcbench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"facetrack/internal/cuda"
	"facetrack/internal/nvml"
)

// Machine says where a benchmark ran.
type Machine struct {
	CPU       string `json:"cpu"`
	Cores     int    `json:"cores"`
	Kernel    string `json:"kernel"`
	MemoryMiB int64  `json:"memory_mib"`
	Go        string `json:"go"`
}

// Memory fills in how much memory the machine has.
func (m *Machine) Memory() {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "MemTotal: %d kB", &kib); n == 1 {
			m.MemoryMiB = kib >> 10
		}
	}
}

// GPU is the device of a run.
type GPU struct {
	Name        string `json:"name"`
	UUID        string `json:"uuid"`
	Driver      string `json:"driver"` // "" when NVML does not tell
	CUDA        string `json:"cuda"`   // of the driver: "13.0"
	Capability  string `json:"compute_capability"`
	MemoryMiB   int64  `json:"memory_mib"`
	PCIe        string `json:"pcie,omitempty"`        // "generation 5, 16 lanes"
	Imitated    string `json:"imitated_by,omitempty"` // the library that took the driver's place: figures mean nothing then
	NVMLMissing string `json:"nvml_error,omitempty"`
}

func (p *producer) describeGPU() *GPU {
	if p.gpu == nil {
		return nil
	}
	d := p.gpu.Device()
	g := &GPU{Name: d.Name, UUID: d.ID(), Capability: fmt.Sprintf("%d.%d", d.Major, d.Minor), MemoryMiB: d.Memory >> 20}
	if library := os.Getenv(cuda.LibraryVariable); library != "" {
		g.Imitated = filepath.Base(library)
	}
	if v, err := cuda.DriverVersion(); err == nil {
		g.CUDA = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
	}
	if err := g.ask(d.ID()); err != nil {
		g.NVMLMissing = err.Error()
	}
	return g
}

// describeMPS tells whether clients share the GPU through a server: "on", "off", or "" without a GPU.
func (p *producer) describeMPS() (state, reason string) {
	if p.gpu == nil || p.o.MPS != "auto" {
		return map[bool]string{true: p.o.MPS}[p.gpu != nil], ""
	}
	m := nvml.FindMPS()
	return map[bool]string{true: "on", false: "off"}[m.Running], m.Reason
}

// ask takes what only NVML knows.
func (g *GPU) ask(uuid string) (err error) {
	library, err := nvml.Open()
	if err != nil {
		return err
	}
	defer func() { _ = library.Close() }()
	if g.Driver, err = library.Driver(); err != nil {
		return err
	}
	d, err := library.Device(uuid)
	if err != nil {
		return err
	}
	link, err := d.Link()
	if err != nil {
		return err
	}
	g.PCIe = fmt.Sprintf("generation %d, %d lanes", link.MaxGeneration, link.Width)
	return nil
}

package inferbench

import (
	"fmt"
	"os"
	"path/filepath"

	"facetrack/internal/cuda"
	"facetrack/internal/nvml"
)

// Result is what Run has measured.
type Result struct {
	GPU    GPU      `json:"gpu"`
	Runs   int      `json:"runs"`
	Rows   []Row    `json:"rows"`
	Torch  *Torch   `json:"torch,omitempty"`
	NotRun []string `json:"not_run,omitempty"`
}

// GPU is the device of a run.
type GPU struct {
	Name       string `json:"name"`
	UUID       string `json:"uuid"`
	Driver     string `json:"driver"` // "" when NVML does not tell
	CUDA       string `json:"cuda"`   // of the driver: "13.0"
	Capability string `json:"compute_capability"`
	MPS        bool   `json:"mps"`
	Imitated   string `json:"imitated_by,omitempty"` // the library that took the driver's place: figures mean nothing then
}

// Row is one network or chain at one precision and batch size. Times are microseconds on the host's clock, from its call until the
// results are there: in the device's memory for a network, on the host for a chain.
type Row struct {
	Network   string  `json:"network"`
	Precision string  `json:"precision"`
	Batch     int     `json:"batch"`
	Chain     bool    `json:"chain,omitempty"`
	Launches  int     `json:"launches,omitempty"`     // kernels of one run
	P50       float64 `json:"p50_us"`                 // one run with a wait behind it, as a captured graph
	P99       float64 `json:"p99_us"`                 //
	InARow    float64 `json:"in_a_row_us"`            // a run among many without a wait between them; of a chain, with two that take turns
	PlainP50  float64 `json:"plain_p50_us,omitempty"` // one run with a wait behind it, launched kernel by kernel
	Floor     *Floor  `json:"floor,omitempty"`
}

// describe says what the device is.
func describe(d cuda.Device) GPU {
	g := GPU{Name: d.Name, UUID: d.ID(), Capability: fmt.Sprintf("%d.%d", d.Major, d.Minor), MPS: nvml.FindMPS().Running}
	if library := os.Getenv(cuda.LibraryVariable); library != "" {
		g.Imitated = filepath.Base(library)
	}
	if v, err := cuda.DriverVersion(); err == nil {
		g.CUDA = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
	}
	if library, err := nvml.Open(); err == nil {
		g.Driver, _ = library.Driver() // "" then
		_ = library.Close()
	}
	return g
}

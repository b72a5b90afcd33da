package app

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"facetrack/internal/config"
	"facetrack/internal/doctor"
	"facetrack/internal/version"
)

// DoctorCmd examines this machine.
type DoctorCmd struct {
	JSON   bool   `name:"json" help:"Print JSON."`
	Config string `type:"path" help:"Examine with this configuration: its cameras, ring and cuda sections."`
	GPU    string `name:"gpu" placeholder:"GPU" help:"GPU of the rings: auto, off, a number or a UUID."`
	Dir    string `placeholder:"DIR" type:"path" help:"Folder of the rings."`
	Second bool   `hidden:"" help:"Be the second process of a round trip (used by 'doctor')."`
}

// doctorReport is what --json prints.
type doctorReport struct {
	Machine Machine `json:"machine"`
	Version string  `json:"version"`
	Commit  string  `json:"commit"`
	doctor.Report
}

var errBroken = errors.New("something on this machine is broken: see FAIL above")

// Run is `facetrack doctor`. It fails when something is broken, not when there is no GPU.
func (c *DoctorCmd) Run(ctx context.Context) error {
	if c.Second {
		return doctor.Serve(os.Stdin, os.Stdout)
	}
	cfg := config.Default()
	if c.Config != "" {
		var err error
		if cfg, err = config.Load(c.Config); err != nil {
			return err
		}
	}
	set(&cfg.CUDA.GPU, c.GPU)
	set(&cfg.Ring.Dir, c.Dir)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	report := doctor.Run(ctx, doctor.Options{Config: cfg, Child: []string{self, "doctor", "--second"}})
	if c.JSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		err = enc.Encode(doctorReport{machine(), version.SemVer, version.Commit(), report})
	} else {
		err = report.Print(os.Stdout)
	}
	if err == nil && report.Failed() {
		return errBroken
	}
	return err
}

package app

import (
	"encoding/json"
	"fmt"
	"os"

	"facetrack/internal/nvml"
)

// claimOut makes sure, before anything is measured, that the file of a flag can be written. What is in it stays until there are results.
func claimOut(flag, path string) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600) //nolint:gosec // the operator names the file
	if err != nil {
		return fmt.Errorf("%s: results could not be written: %w: choose another file", flag, err)
	}
	return f.Close()
}

// writeOut writes results as JSON, if a file was asked for.
func writeOut(path string, results any) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(results, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o600)
}

// mpsAs says whether NVIDIA's Multi-Process Service is in use; it must be as asked.
func mpsAs(asked string, found nvml.MPS) (bool, error) {
	switch {
	case asked == "on" && !found.Running:
		return false, fmt.Errorf("--mps on: no MPS server runs (%s): start one with nvidia-cuda-mps-control -d, or leave the flag out", found.Reason)
	case asked == "off" && found.Running:
		return false, fmt.Errorf("--mps off: an MPS server runs (%s): end it with echo quit | nvidia-cuda-mps-control, or leave the flag out", found.Reason)
	}
	return found.Running, nil
}

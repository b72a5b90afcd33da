//go:build cuda

package gpu

import (
	"fmt"

	"facetrack/internal/cuda"
	"facetrack/internal/nvml"
)

// processMemory asks NVML how many bytes of a GPU's memory each process has.
func processMemory(gpu cuda.UUID) (map[int]int64, error) {
	library, err := nvml.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = library.Close() }()
	device, err := library.Device(gpu.String())
	if err != nil {
		return nil, err
	}
	processes, err := device.Processes()
	if err != nil {
		return nil, err
	}
	byPID := map[int]int64{}
	for _, p := range processes {
		if p.Bytes < 0 {
			return nil, fmt.Errorf("NVML does not tell the memory of process %d", p.PID)
		}
		byPID[p.PID] = p.Bytes
	}
	return byPID, nil
}

//go:build cuda

package nvml

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// gpu is a GPU through go-nvml.
type gpu struct{ d nvml.Device }

func (g gpu) uuid() (string, error) { return value("nvmlDeviceGetUUID", g.d.GetUUID) }
func (g gpu) name() (string, error) { return value("nvmlDeviceGetName", g.d.GetName) }

func (g gpu) pci() (string, error) {
	p, err := value("nvmlDeviceGetPciInfo", g.d.GetPciInfo)
	return fmt.Sprintf("%04x:%02x:%02x.0", p.Domain, p.Bus, p.Device), err
}

func (g gpu) memory() (Memory, error) {
	m, err := value("nvmlDeviceGetMemoryInfo", g.d.GetMemoryInfo)
	return Memory{Total: int64(m.Total), Used: int64(m.Used)}, err
}

// processes joins the two lists of the library: clients of an MPS server are in the second, and in the first as well on
// some drivers.
func (g gpu) processes() ([]Process, error) {
	plain, err := value("nvmlDeviceGetComputeRunningProcesses", g.d.GetComputeRunningProcesses)
	if err != nil {
		return nil, err
	}
	clients, err := value("nvmlDeviceGetMPSComputeRunningProcesses", g.d.GetMPSComputeRunningProcesses)
	if err != nil && !errors.Is(err, ErrNotSupported) {
		return nil, err
	}
	at := map[int]int{}
	var all []Process
	for i, info := range append(plain, clients...) {
		p := Process{PID: int(info.Pid), Bytes: usedBytes(info.UsedGpuMemory), MPS: i >= len(plain)}
		if j, known := at[p.PID]; known {
			all[j].MPS = all[j].MPS || p.MPS
			all[j].Bytes = max(all[j].Bytes, p.Bytes)
			continue
		}
		at[p.PID] = len(all)
		all = append(all, p)
	}
	return all, nil
}

func usedBytes(n uint64) int64 {
	if int64(n) < 0 { // NVML_VALUE_NOT_AVAILABLE
		return -1
	}
	return int64(n)
}

func (g gpu) mig() (bool, error) {
	mode, err := value("nvmlDeviceGetMigMode", func() (int, nvml.Return) {
		now, _, r := g.d.GetMigMode()
		return now, r
	})
	if errors.Is(err, ErrNotSupported) { // a GPU that cannot be divided
		return false, nil
	}
	return mode == nvml.DEVICE_MIG_ENABLE, err
}

func (g gpu) computeMode() (ComputeMode, error) {
	m, err := value("nvmlDeviceGetComputeMode", g.d.GetComputeMode)
	return ComputeMode(m), err
}

func (g gpu) link() (l Link, err error) {
	for _, part := range []struct {
		call string
		f    func() (int, nvml.Return)
		to   *int
	}{
		{"nvmlDeviceGetCurrPcieLinkGeneration", g.d.GetCurrPcieLinkGeneration, &l.Generation},
		{"nvmlDeviceGetCurrPcieLinkWidth", g.d.GetCurrPcieLinkWidth, &l.Width},
		{"nvmlDeviceGetMaxPcieLinkGeneration", g.d.GetMaxPcieLinkGeneration, &l.MaxGeneration},
		{"nvmlDeviceGetMaxPcieLinkWidth", g.d.GetMaxPcieLinkWidth, &l.MaxWidth},
	} {
		if *part.to, err = value(part.call, part.f); err != nil {
			return Link{}, err
		}
	}
	return l, nil
}

func (g gpu) throughput() (Throughput, error) {
	rate := func(c nvml.PcieUtilCounter) (int64, error) {
		v, err := value("nvmlDeviceGetPcieThroughput", func() (uint32, nvml.Return) { return g.d.GetPcieThroughput(c) })
		return int64(v), err
	}
	rx, err := rate(nvml.PCIE_UTIL_RX_BYTES)
	if err != nil {
		return Throughput{}, err
	}
	tx, err := rate(nvml.PCIE_UTIL_TX_BYTES)
	return Throughput{RXKBps: rx, TXKBps: tx}, err
}

func (g gpu) counters() (Traffic, error) {
	fields := []nvml.FieldValue{{FieldId: nvml.FI_DEV_PCIE_COUNT_RX_BYTES}, {FieldId: nvml.FI_DEV_PCIE_COUNT_TX_BYTES}}
	err := call("nvmlDeviceGetFieldValues", func() nvml.Return { return g.d.GetFieldValues(fields) })
	var values [2]uint64
	for i, f := range fields {
		if err == nil {
			err = failed("nvmlDeviceGetFieldValues", nvml.Return(f.NvmlReturn))
		}
		values[i] = binary.NativeEndian.Uint64(f.Value[:])
		if f.ValueType == uint32(nvml.VALUE_TYPE_UNSIGNED_INT) {
			values[i] = uint64(binary.NativeEndian.Uint32(f.Value[:]))
		}
	}
	if err != nil {
		return Traffic{}, err
	}
	return Traffic{RX: values[0], TX: values[1]}, nil
}

func (g gpu) utilization() (Utilization, error) {
	u, err := value("nvmlDeviceGetUtilizationRates", g.d.GetUtilizationRates)
	return Utilization{GPU: int(u.Gpu), Memory: int(u.Memory)}, err
}

func (g gpu) celsius() (int, error) {
	t, err := value("nvmlDeviceGetTemperature", func() (uint32, nvml.Return) { return g.d.GetTemperature(nvml.TEMPERATURE_GPU) })
	return int(t), err
}

func (g gpu) watts() (float64, error) {
	mw, err := value("nvmlDeviceGetPowerUsage", g.d.GetPowerUsage)
	return float64(mw) / 1000, err
}

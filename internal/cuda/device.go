package cuda

import (
	"fmt"
	"strings"

	"facetrack/internal/fault"
)

// Device attributes by number: the names of the memory operations moved to other numbers with CUDA 12.
const (
	attributeIntegrated  = 18
	attributeComputeMode = 20
	attributePCIBus      = 33
	attributePCIDevice   = 34
	attributeUnified     = 41
	attributePCIDomain   = 50
	attributeMajor       = 75
	attributeMinor       = 76
	attributeMemOps64V1  = 93
	attributeMemOps64    = 122 // the second form, since driver 515
	attributeIPCEvents   = 125
)

// Devices lists the devices that this process sees.
func Devices() ([]Device, error) {
	var count int
	err := call("cuDeviceGetCount", func(d driver) (code Code) {
		count, code = d.deviceCount()
		return code
	})
	if err != nil {
		return nil, err
	}
	devices := make([]Device, count)
	for i := range devices {
		if devices[i], err = describe(i); err != nil {
			return nil, err
		}
	}
	return devices, nil
}

func describe(ordinal int) (Device, error) {
	v := Device{Ordinal: ordinal}
	var dev int
	var first UUID
	steps := []struct {
		call string
		f    func(d driver) Code
	}{
		{"cuDeviceGet", func(d driver) (code Code) { dev, code = d.deviceGet(ordinal); return code }},
		{"cuDeviceGetName", func(d driver) (code Code) { v.Name, code = d.deviceName(dev); return code }},
		{"cuDeviceTotalMem", func(d driver) (code Code) { v.Memory, code = d.deviceMemory(dev); return code }},
		{"cuDeviceGetUuid", func(d driver) (code Code) { first, code = d.deviceUUID(dev); return code }},
		{"cuDeviceGetAttribute", func(d driver) Code { return v.attributes(d, dev) }},
	}
	for _, s := range steps {
		if err := call(s.call, s.f); err != nil {
			return v, fmt.Errorf("CUDA device %d: %w", ordinal, err)
		}
	}
	v.identify(dev, first)
	return v, nil
}

// identify sets the UUID. A MIG instance has one of its own, beside that of the GPU.
func (d *Device) identify(dev int, first UUID) {
	d.UUID = first
	_ = call("cuDeviceGetUuid", func(drv driver) Code { // drivers before 11.4 have no second form
		if own, code := drv.deviceUUIDv2(dev); code == 0 {
			d.UUID = own
		}
		return 0
	})
	d.MIG = d.UUID != first || strings.Contains(d.Name, "MIG") || fault.At("mig") != ""
	d.Integrated = d.Integrated || fault.At("integrated") != ""
}

// attributes that a driver does not know count as 0, except for those that every device has.
func (d *Device) attributes(drv driver, dev int) Code {
	var failure Code
	get := func(attribute int) int {
		value, code := drv.deviceAttribute(dev, attribute)
		if code != 0 {
			failure = code
		}
		return value
	}
	d.Major, d.Minor = get(attributeMajor), get(attributeMinor)
	d.ComputeMode = get(attributeComputeMode)
	d.Integrated = get(attributeIntegrated) != 0
	d.PCI = fmt.Sprintf("%04x:%02x:%02x.0", get(attributePCIDomain), get(attributePCIBus), get(attributePCIDevice))
	if failure != 0 {
		return failure
	}
	d.MemOps64 = get(attributeMemOps64) != 0 || get(attributeMemOps64V1) != 0
	events, code := drv.deviceAttribute(dev, attributeIPCEvents)
	d.IPCEvents = events != 0
	if code != 0 { // the attribute is younger than the function
		d.IPCEvents = get(attributeUnified) != 0
	}
	return 0
}

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
	attributeShared      = 97
	attributeMemOps64    = 122 // the second form, since driver 515
	attributeIPCEvents   = 125
)

// Sick is a device that the driver counts and cannot describe: its Ordinal is known, the rest perhaps.
type Sick struct {
	Device
	Err error
}

// Devices lists the devices that this process sees. A sick one does not hide the others: it is an error only when all are sick.
func Devices() ([]Device, error) {
	healthy, sick, err := Survey()
	if err == nil && len(healthy) == 0 {
		err = sickness(sick)
	}
	return healthy, err
}

// Survey is Devices with those that are sick.
func Survey() (healthy []Device, sick []Sick, err error) {
	var count int
	err = call("cuDeviceGetCount", func(d driver) (code Code) {
		count, code = d.deviceCount()
		return code
	})
	if err != nil {
		return nil, nil, err
	}
	for i := range count {
		if d, err := describe(i); err != nil {
			sick = append(sick, Sick{d, err})
		} else {
			healthy = append(healthy, d)
		}
	}
	return healthy, sick, nil
}

// sickness is what ails the devices, on one line.
func sickness(sick []Sick) (err error) {
	for _, s := range sick {
		if err == nil {
			err = s.Err
		} else {
			err = fmt.Errorf("%w; %w", err, s.Err)
		}
	}
	return err
}

func describe(ordinal int) (Device, error) {
	v := Device{Ordinal: ordinal}
	var dev int
	steps := []struct {
		call string
		f    func(d driver) Code
	}{
		{"cuDeviceGet", func(d driver) (code Code) { dev, code = d.deviceGet(ordinal); return code }},
		{"cuDeviceGetUuid", func(d driver) (code Code) { v.UUID, code = d.deviceUUID(dev); return code }},
		{"cuDeviceGetName", func(d driver) (code Code) { v.Name, code = d.deviceName(dev); return code }},
		{"cuDeviceTotalMem", func(d driver) (code Code) { v.Memory, code = d.deviceMemory(dev); return code }},
		{"cuDeviceGetAttribute", func(d driver) Code { return v.attributes(d, dev) }},
	}
	for _, s := range steps {
		if err := call(s.call, s.f); err != nil {
			return v, fmt.Errorf("CUDA device %d: %w", ordinal, err)
		}
	}
	v.identify(dev)
	return v, nil
}

// identify corrects the UUID: a MIG instance has one of its own, beside that of the GPU.
func (d *Device) identify(dev int) {
	first := d.UUID
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
	d.SharedMemory, _ = drv.deviceAttribute(dev, attributeShared)
	events, code := drv.deviceAttribute(dev, attributeIPCEvents)
	d.IPCEvents = events != 0
	if code != 0 { // the attribute is younger than the function
		d.IPCEvents = get(attributeUnified) != 0
	}
	return 0
}

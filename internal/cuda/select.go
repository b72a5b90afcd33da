package cuda

import (
	"fmt"
	"strconv"
	"strings"

	"facetrack/internal/fault"
)

const prohibited = 2 // a compute mode

// CanAccessPeer tells whether d can reach the memory of o.
func (d Device) CanAccessPeer(o Device) (can bool, err error) {
	if fault.At("peer") != "" {
		return false, nil
	}
	err = call("cuDeviceCanAccessPeer", func(drv driver) Code {
		dev, code := drv.deviceGet(d.Ordinal)
		peer, peerCode := drv.deviceGet(o.Ordinal)
		if code = max(code, peerCode); code == 0 {
			can, code = drv.canAccessPeer(dev, peer)
		}
		return code
	})
	return can, err
}

// DeviceByUUID finds a device; ErrNoSuchDevice names those that are here.
func DeviceByUUID(u UUID) (Device, error) {
	devices, err := Devices()
	if err != nil {
		return Device{}, err
	}
	return pick(devices, u.String(), func(d Device) bool { return d.UUID == u && fault.At("uuid") == "" })
}

// SelectDevice finds a device by configuration: "auto" (the first that is usable), an ordinal, or a UUID.
func SelectDevice(name string) (Device, error) {
	devices, err := Devices()
	if err != nil {
		return Device{}, err
	}
	if name == "" || name == "auto" {
		return pick(devices, "one whose compute mode allows programs", func(d Device) bool { return d.ComputeMode != prohibited })
	}
	if ordinal, err := strconv.Atoi(name); err == nil {
		return pick(devices, name, func(d Device) bool { return d.Ordinal == ordinal })
	}
	u, err := ParseUUID(name)
	if err != nil {
		return Device{}, fmt.Errorf("the device is auto, an ordinal or a UUID: %w", err)
	}
	return pick(devices, name, func(d Device) bool { return d.UUID == u })
}

func pick(devices []Device, wanted string, fits func(Device) bool) (Device, error) {
	here := make([]string, 0, len(devices))
	for _, d := range devices {
		if fits(d) {
			return d, nil
		}
		here = append(here, fmt.Sprintf("%d: %s %s", d.Ordinal, d.Name, d.ID()))
	}
	if len(here) == 0 {
		here = []string{"none"}
	}
	return Device{}, fmt.Errorf("%w: %s is wanted, here: %s", ErrNoSuchDevice, wanted, strings.Join(here, ", "))
}

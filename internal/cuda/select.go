package cuda

import (
	"fmt"
	"slices"
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
	c, err := count()
	if err != nil {
		return Device{}, err
	}
	return c.find(u.String(), func(d Device) bool { return d.UUID == u && fault.At("uuid") == "" })
}

// SelectDevice finds a device by configuration: "auto", an ordinal, or a UUID. "auto" is the first that programs may use and
// that can share memory; one that cannot (MIG, integrated) only when there is no other.
func SelectDevice(name string) (Device, error) {
	c, err := count()
	if err != nil {
		return Device{}, err
	}
	if name == "" || name == "auto" {
		return c.auto()
	}
	if ordinal, err := strconv.Atoi(name); err == nil {
		return c.find(name, func(d Device) bool { return d.Ordinal == ordinal })
	}
	u, err := ParseUUID(name)
	if err != nil {
		return Device{}, fmt.Errorf("the device is auto, an ordinal or a UUID: %w", err)
	}
	return c.find(name, func(d Device) bool { return d.UUID == u })
}

// census is what Survey finds.
type census struct {
	healthy []Device
	sick    []Sick
}

func count() (c census, err error) {
	c.healthy, c.sick, err = Survey()
	return c, err
}

// find returns the device that is asked for, or what ails it.
func (c census) find(wanted string, is func(Device) bool) (Device, error) {
	if i := slices.IndexFunc(c.healthy, is); i >= 0 {
		return c.healthy[i], nil
	}
	for _, s := range c.sick {
		if is(s.Device) {
			return Device{}, s.Err
		}
	}
	return Device{}, c.lacks(wanted)
}

func (c census) auto() (Device, error) {
	if len(c.healthy) == 0 && len(c.sick) > 0 {
		return Device{}, sickness(c.sick)
	}
	usable := func(d Device) bool { return d.ComputeMode != prohibited }
	sharing := func(d Device) bool { return usable(d) && !d.MIG && !d.Integrated }
	for _, fits := range []func(Device) bool{sharing, usable} {
		if i := slices.IndexFunc(c.healthy, fits); i >= 0 {
			return c.healthy[i], nil
		}
	}
	return Device{}, c.lacks("one whose compute mode allows programs")
}

// lacks is the error that a device is not among those that are here.
func (c census) lacks(wanted string) error {
	here := make([]string, 0, len(c.healthy))
	for _, d := range c.healthy {
		here = append(here, fmt.Sprintf("%d: %s %s", d.Ordinal, d.Name, d.ID()))
	}
	if len(here) == 0 {
		here = []string{"none"}
	}
	err := fmt.Errorf("%w: %s is wanted, here: %s", ErrNoSuchDevice, wanted, strings.Join(here, ", "))
	if len(c.sick) > 0 {
		err = fmt.Errorf("%w; sick: %w", err, sickness(c.sick))
	}
	return err
}

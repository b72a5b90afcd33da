package cuda

import (
	"errors"
	"strings"
	"testing"

	"facetrack/internal/fault"
)

func TestDevices(t *testing.T) {
	f := useFake(t)
	f.devices = append(f.devices, Device{Ordinal: 2, Name: "C", UUID: UUID{3, 3}}) // its second UUID differs from the first
	devices := must[[]Device](t)(Devices())
	if len(devices) != 3 || devices[0].MIG || !devices[2].MIG || !devices[0].IPCEvents || !devices[0].MemOps64 || devices[0].Integrated {
		t.Errorf("%+v", devices)
	}
	fault.Plan("mig=1,integrated=1,peer=1,uuid=other")
	faulty := must[[]Device](t)(Devices())
	if !faulty[0].MIG || !faulty[0].Integrated {
		t.Errorf("planned faults show nothing: %+v", faulty[0])
	}
	if can, err := devices[0].CanAccessPeer(devices[1]); can || err != nil {
		t.Errorf("peer access is planned to fail: %v %v", can, err)
	}
	if _, err := DeviceByUUID(devices[0].UUID); !errors.Is(err, ErrNoSuchDevice) {
		t.Errorf("the GPU is planned to be elsewhere: %v", err)
	}
	fault.Plan("cuDeviceGetName=999")
	if _, err := Devices(); !errors.Is(err, Unknown) || !strings.Contains(err.Error(), "device 0") {
		t.Errorf("%v", err)
	}
}

func TestSelectDevice(t *testing.T) {
	f := useFake(t)
	f.devices[0].ComputeMode = prohibited
	for name, want := range map[string]int{"": 1, "auto": 1, "0": 0, "1": 1, f.devices[0].UUID.String(): 0, "MIG-" + f.devices[1].UUID.groups(): 1} {
		if d, err := SelectDevice(name); err != nil || d.Ordinal != want {
			t.Errorf("%q: device %d %v, want %d", name, d.Ordinal, err, want)
		}
	}
	for _, name := range []string{"2", "-1", UUID{9}.String()} {
		_, err := SelectDevice(name)
		if !errors.Is(err, ErrNoSuchDevice) || !strings.Contains(err.Error(), "1: B GPU-02000000-") {
			t.Errorf("%q: %v, want the devices that are here", name, err)
		}
	}
	if _, err := SelectDevice("first"); err == nil || errors.Is(err, ErrNoSuchDevice) {
		t.Errorf("nonsense: %v", err)
	}
	f.devices = nil
	if _, err := SelectDevice("auto"); !errors.Is(err, ErrNoSuchDevice) || !strings.Contains(err.Error(), "none") {
		t.Errorf("no device: %v", err)
	}
}

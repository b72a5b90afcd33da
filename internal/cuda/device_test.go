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
	if len(devices) != 3 || devices[0].MIG || !devices[2].MIG || !devices[0].IPCEvents || !devices[0].MemOps64 || devices[0].Integrated || devices[0].SharedMemory != 227<<10 {
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

// "auto" takes what can share memory, then what can be used at all.
func TestAutomaticDevice(t *testing.T) {
	f := useFake(t)
	all := []Device{
		{Name: "prohibited", UUID: UUID{1}, ComputeMode: prohibited},
		{Name: "MIG", UUID: UUID{2, 7}}, // its second UUID differs from the first
		{Name: "integrated", UUID: UUID{3}, Integrated: true},
		{Name: "plain", UUID: UUID{4}},
		{Name: "exclusive", UUID: UUID{5}, ComputeMode: 3},
	}
	for _, c := range []struct {
		here []int
		want string
	}{
		{[]int{0, 1, 2, 3, 4}, "plain"}, {[]int{4, 3}, "exclusive"}, {[]int{0, 1, 2}, "MIG"}, {[]int{2, 0, 1}, "integrated"}, {[]int{0}, ""}, {nil, ""},
	} {
		f.devices = nil
		for i, n := range c.here {
			d := all[n]
			d.Ordinal = i
			f.devices = append(f.devices, d)
		}
		d, err := SelectDevice("auto")
		if d.Name != c.want || (err == nil) != (c.want != "") || err != nil && !errors.Is(err, ErrNoSuchDevice) {
			t.Errorf("of %v: %q %v, want %q", c.here, d.Name, err, c.want)
		}
	}
}

// A sick GPU hides no other one, and its error comes to whoever asks for it.
func TestSickDevice(t *testing.T) {
	f := useFake(t)
	f.devices = append(f.devices, Device{Ordinal: 2, Name: "C", UUID: UUID{3}})
	f.sick = map[int]bool{0: true}
	if here, err := Devices(); err != nil || len(here) != 2 || here[0].Ordinal != 1 || here[1].Ordinal != 2 {
		t.Errorf("%+v %v", here, err)
	}
	healthy, sick, err := Survey()
	if err != nil || len(healthy) != 2 || len(sick) != 1 || sick[0].Ordinal != 0 || sick[0].UUID != (UUID{1}) || !errors.Is(sick[0].Err, Unknown) {
		t.Errorf("%+v %+v %v", healthy, sick, err)
	}
	for name, want := range map[string]int{"auto": 1, "1": 1, "2": 2, UUID{2}.String(): 1} {
		if d, err := SelectDevice(name); err != nil || d.Ordinal != want {
			t.Errorf("%s: %d %v, want %d", name, d.Ordinal, err, want)
		}
	}
	_, byUUID := DeviceByUUID(UUID{1})
	_, byOrdinal := SelectDevice("0")
	for _, err := range []error{byUUID, byOrdinal} {
		if !errors.Is(err, Unknown) || errors.Is(err, ErrNoSuchDevice) || !strings.Contains(err.Error(), "CUDA device 0: cuDeviceGetName") {
			t.Errorf("the sick one: %v", err)
		}
	}
	if _, err := SelectDevice("7"); !errors.Is(err, ErrNoSuchDevice) || !errors.Is(err, Unknown) || !strings.Contains(err.Error(), "sick: CUDA device 0") {
		t.Errorf("one that is not here: %v", err)
	}
	f.sick = map[int]bool{0: true, 1: true, 2: true}
	_, devicesErr := Devices()
	_, autoErr := SelectDevice("auto")
	for _, err := range []error{devicesErr, autoErr} {
		if !errors.Is(err, Unknown) || errors.Is(err, ErrNoSuchDevice) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "device 2") {
			t.Errorf("all are sick: %v", err)
		}
	}
}

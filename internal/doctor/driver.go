package doctor

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"facetrack/internal/cuda"
	"facetrack/internal/nvml"
)

const oldestCUDA = 11080 // the version of PTX that the kernels are in

func (d *doctor) build() Check {
	if errors.Is(cuda.Init(), cuda.ErrNotBuilt) {
		d.without = "this program was built without CUDA"
		return warn("without CUDA", "build it with make build, which needs neither a CUDA toolkit nor a driver")
	}
	return ok("with CUDA")
}

func (d *doctor) driver() Check {
	switch {
	case d.without != "":
		return skipped(d.without)
	case !d.o.Config.DeviceRing():
		d.without = "the configuration switches the GPU off"
		return skipped(d.without)
	}
	err := cuda.Init()
	version, versionErr := cuda.DriverVersion()
	switch {
	case errors.Is(err, cuda.ErrNoDriver):
		d.without = "there is no NVIDIA driver"
		if d.hardware() {
			return warn("this machine has an NVIDIA GPU, but no libcuda.so.1 is here",
				"install NVIDIA's driver, or start the container with --gpus all")
		}
		return warn("none (no libcuda.so.1)", "none is needed without an NVIDIA GPU: pixels go through host memory")
	case errors.Is(err, cuda.NoDevice):
		d.without = "the NVIDIA driver shows no GPU"
		return d.nothingToDrive(err)
	case err != nil:
		d.without = "the NVIDIA driver does not start"
		return failed("", err)
	case versionErr != nil:
		return failed("", versionErr)
	case version < oldestCUDA:
		return fail(d.versions(version), "update the NVIDIA driver to 520 or newer: an older one cannot load the kernels")
	}
	return ok(d.versions(version))
}

// hardware tells whether a GPU of NVIDIA is on the PCI bus, with or without a driver.
func (d *doctor) hardware() bool {
	for _, dev := range d.list("/sys/bus/pci/devices") {
		path := "/sys/bus/pci/devices/" + dev
		if d.read(path+"/vendor") == "0x10de" && strings.HasPrefix(d.read(path+"/class"), "0x03") {
			return true
		}
	}
	return false
}

// nothingToDrive: the driver's library is here and finds nothing to drive.
func (d *doctor) nothingToDrive(err error) Check {
	switch {
	case d.exists("/proc/driver/nvidia/version"):
		return warn(d.visible(), cureOf(err))
	case d.hardware():
		return warn("this machine has an NVIDIA GPU and the driver's library, but the kernel module is not loaded",
			"load it (modprobe nvidia); if that fails, reinstall the driver, as after an update of the kernel, and sign the module where Secure Boot is on; "+
				"in a container, load it on the host")
	}
	return warn("the driver's library is here, but no NVIDIA GPU", "none is needed without an NVIDIA GPU: pixels go through host memory")
}

func (d *doctor) visible() string {
	const seen = "the NVIDIA driver shows no GPU"
	if v, set := os.LookupEnv("CUDA_VISIBLE_DEVICES"); set {
		return fmt.Sprintf("%s; CUDA_VISIBLE_DEVICES=%q", seen, v)
	}
	return seen
}

func (d *doctor) versions(version int) string {
	text := fmt.Sprintf("CUDA %d.%d", version/1000, version%1000/10)
	_ = manage(func(l *nvml.Library) error {
		v, err := l.Driver()
		if err == nil {
			text = v + ", " + text
		}
		return err
	})
	return text
}

package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The inodes that the kernel gives to the first namespaces of each kind; every container has others.
const (
	firstPID = "pid:[4026531836]"
	firstIPC = "ipc:[4026531839]"
)

func (d *doctor) path(p string) string { return filepath.Join(d.o.Root, p) }

// read returns a small file of the system, without white space around; "" when it cannot be read.
func (d *doctor) read(path string) string {
	text, err := os.ReadFile(d.path(path))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func (d *doctor) list(dir string) []string {
	entries, _ := os.ReadDir(d.path(dir)) // none when there is no such folder
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

func (d *doctor) exists(path string) bool {
	_, err := os.Stat(d.path(path))
	return err == nil
}

func (d *doctor) wsl() Check {
	kernel := d.read("/proc/sys/kernel/osrelease")
	if !d.exists("/dev/dxg") && !strings.Contains(strings.ToLower(kernel), "microsoft") {
		return ok("no (Linux " + kernel + ")")
	}
	return warn("yes (Linux "+kernel+"): GPU memory of another process is known to read as zeros",
		"run on Linux itself, or use facetrack up --threads; the round trips below show what works")
}

// deviceFiles opens the driver's files as the driver's library does.
func (d *doctor) deviceFiles() Check {
	switch {
	case !d.exists("/proc/driver/nvidia/version"):
		return skipped("no kernel module of NVIDIA")
	case !d.o.Config.DeviceRing():
		return skipped("no GPU is used")
	}
	wanted := []string{"nvidiactl", "nvidia-uvm"}
	for _, name := range d.list("/dev") {
		if n, isGPU := strings.CutPrefix(name, "nvidia"); isGPU && n != "" && strings.Trim(n, "0123456789") == "" {
			wanted = append(wanted, name)
		}
	}
	var missing, closed []string
	for _, name := range wanted {
		f, err := os.OpenFile(d.path("/dev/"+name), os.O_RDWR, 0)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, "/dev/"+name)
		case err != nil:
			closed = append(closed, err.Error())
		default:
			_ = f.Close()
		}
	}
	if len(wanted) == 2 {
		missing = append(missing, "/dev/nvidia0")
	}
	switch {
	case d.found:
		return ok(fmt.Sprintf("%d of %d open, and the driver works", len(wanted)-len(missing)-len(closed), len(wanted)))
	case len(closed) > 0:
		return fail(strings.Join(closed, "; "),
			"give this user access (on some systems by the group video), a container the devices (--gpus all), a systemd unit DeviceAllow")
	case len(missing) > 0:
		return warn("not here: "+strings.Join(missing, ", "), "start the container with --gpus all; on the machine itself run nvidia-modprobe -u -c=0")
	}
	return ok(strings.Join(wanted, ", ") + " open")
}

// namespaces tells what other containers would meet; processes of one container share everything.
func (d *doctor) namespaces() Check {
	pid, pidErr := os.Readlink(d.path("/proc/self/ns/pid"))
	ipc, ipcErr := os.Readlink(d.path("/proc/self/ns/ipc"))
	if err := errors.Join(pidErr, ipcErr); err != nil {
		return warn(err.Error(), "mount /proc")
	}
	var private []string
	if pid != firstPID {
		private = append(private, "process ids are this container's own and can equal those of another one, which CUDA takes for the same process"+
			" (start both with --pid=host)")
	}
	if ipc != firstIPC {
		private = append(private, "/dev/shm and CUDA events are not shared with other containers (start them with --ipc=host)")
	}
	if len(private) == 0 {
		return ok("the machine's own: processes and containers with --ipc=host share everything")
	}
	return ok("in a container: processes in it share everything; " + strings.Join(private, "; "))
}

package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"facetrack/internal/config"
	"facetrack/internal/cuda"
)

// tree makes a machine out of files; a value that begins with → is a symbolic link, and / makes a folder.
func tree(t *testing.T, files map[string]string) *doctor {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		target, link := strings.CutPrefix(content, "→")
		switch {
		case err != nil:
		case link:
			err = os.Symlink(target, path)
		case content == "/":
			err = os.Mkdir(path, 0o700)
		default:
			err = os.WriteFile(path, []byte(content+"\n"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return &doctor{o: Options{Root: root, Config: config.Default()}}
}

func expect(t *testing.T, c Check, status Status, seen, cure string) {
	t.Helper()
	if c.Status != status || !strings.Contains(c.Seen, seen) || !strings.Contains(c.Cure, cure) || (status == OK || status == Skipped) != (c.Cure == "") {
		t.Errorf("%+v, want %s, %q, %q", c, status, seen, cure)
	}
}

func TestWSL(t *testing.T) {
	const kernel = "/proc/sys/kernel/osrelease"
	expect(t, tree(t, map[string]string{kernel: "6.8.0-generic"}).wsl(), OK, "6.8.0", "")
	expect(t, tree(t, map[string]string{kernel: "5.15.167.4-microsoft-standard-WSL2"}).wsl(), Warn, "zeros", "--threads")
	expect(t, tree(t, map[string]string{kernel: "6.8.0", "/dev/dxg": ""}).wsl(), Warn, "zeros", "--threads")
}

func TestNamespaces(t *testing.T) {
	const pid, ipc = "/proc/self/ns/pid", "/proc/self/ns/ipc"
	expect(t, tree(t, map[string]string{pid: "→" + firstPID, ipc: "→" + firstIPC}).namespaces(), OK, "own", "")
	expect(t, tree(t, map[string]string{pid: "→pid:[4026532200]", ipc: "→" + firstIPC}).namespaces(), OK, "--pid=host", "")
	expect(t, tree(t, map[string]string{pid: "→" + firstPID, ipc: "→ipc:[4026532200]"}).namespaces(), OK, "--ipc=host", "")
	expect(t, tree(t, nil).namespaces(), Warn, "no such file", "/proc")
}

func TestDeviceFiles(t *testing.T) {
	const module = "/proc/driver/nvidia/version"
	expect(t, tree(t, nil).deviceFiles(), Skipped, "no kernel module", "")
	expect(t, tree(t, map[string]string{module: "580"}).deviceFiles(), Warn, "/dev/nvidia0", "--gpus all")
	all := map[string]string{module: "580", "/dev/nvidiactl": "", "/dev/nvidia-uvm": "", "/dev/nvidia7": "", "/dev/nvidia-modeset": ""}
	expect(t, tree(t, all).deviceFiles(), OK, "nvidiactl, nvidia-uvm, nvidia7 open", "")
	delete(all, "/dev/nvidia-uvm")
	expect(t, tree(t, all).deviceFiles(), Warn, "/dev/nvidia-uvm", "nvidia-modprobe")
	all["/dev/nvidia7"] = "/" // cannot be opened for writing, not even by root
	expect(t, tree(t, all).deviceFiles(), Fail, "/dev/nvidia7", "DeviceAllow")
	d := tree(t, all)
	d.found = true // the driver finds its way
	expect(t, d.deviceFiles(), OK, "1 of 3", "")
}

func TestHardware(t *testing.T) {
	const dev = "/sys/bus/pci/devices/0000:01:00.0/"
	for _, c := range []struct {
		vendor, class string
		want          bool
	}{{"0x10de", "0x030200", true}, {"0x10de", "0x040300", false}, {"0x1002", "0x030000", false}} {
		if got := tree(t, map[string]string{dev + "vendor": c.vendor, dev + "class": c.class}).hardware(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestDriverThatFindsNothing(t *testing.T) {
	none := errors.New("no device")
	gpu := map[string]string{"/sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de", "/sys/bus/pci/devices/0000:01:00.0/class": "0x030200"}
	expect(t, tree(t, gpu).nothingToDrive(none), Warn, "kernel module is not loaded", "modprobe nvidia")
	expect(t, tree(t, nil).nothingToDrive(none), Warn, "no NVIDIA GPU", "none is needed")
	gpu["/proc/driver/nvidia/version"] = "NVRM version"
	expect(t, tree(t, gpu).nothingToDrive(&cuda.Error{Call: "cuInit", Code: cuda.NoDevice}), Warn, "shows no GPU", "CUDA_VISIBLE_DEVICES")
}

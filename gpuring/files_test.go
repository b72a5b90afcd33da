package gpuring_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"facetrack/gpuring"
)

func TestBadOptions(t *testing.T) {
	for name, change := range map[string]func(*gpuring.Options){
		"no rig":           func(o *gpuring.Options) { o.Rig = "" },
		"rig with slash":   func(o *gpuring.Options) { o.Rig = "../etc" },
		"camera with dot":  func(o *gpuring.Options) { o.Camera = "cam.0" },
		"camera with line": func(o *gpuring.Options) { o.Camera = "cam\n" },
		"long camera":      func(o *gpuring.Options) { o.Camera = strings.Repeat("c", 33) },
		"one slot":         func(o *gpuring.Options) { o.Geometry.Slots = 1 },
		"257 slots":        func(o *gpuring.Options) { o.Geometry.Slots = 257 },
		"no width":         func(o *gpuring.Options) { o.Geometry.Width = 0 },
		"negative height":  func(o *gpuring.Options) { o.Geometry.Height = -2 },
		"huge":             func(o *gpuring.Options) { o.Geometry.Width = 16385 },
		"unknown format":   func(o *gpuring.Options) { o.Geometry.Format = "RGB" },
		"odd NV12": func(o *gpuring.Options) {
			o.Geometry = gpuring.Geometry{Width: 4, Height: 3, Format: gpuring.NV12, Slots: 2}
		},
		"odd YUYV": func(o *gpuring.Options) {
			o.Geometry = gpuring.Geometry{Width: 3, Height: 4, Format: gpuring.YUYV, Slots: 2}
		},
	} {
		o := options(t, small)
		change(&o)
		if _, err := gpuring.Create(o); !errors.Is(err, gpuring.ErrOptions) {
			t.Errorf("%s: %v, want ErrOptions", name, err)
		}
		if left := names(t, o.Dir); len(left) != 0 {
			t.Errorf("%s: files left: %v", name, left)
		}
	}
}

// oneLine fails unless the error is one line with all of the words.
func oneLine(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Error("no error")
		return
	}
	for _, word := range append(words, ": ") {
		if !strings.Contains(err.Error(), word) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q: want one line with %q", err, word)
		}
	}
}

func TestMissingFolder(t *testing.T) {
	o := options(t, small)
	o.Dir = filepath.Join(o.Dir, "none")
	_, err := gpuring.Create(o)
	oneLine(t, err, o.Dir, "does not exist", "mount -t tmpfs")
	if _, err := gpuring.CleanStale(o.Dir, "lab"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("CleanStale: %v, want os.ErrNotExist", err)
	}
}

// ownMounts starts a child with a mount table of its own, and a tmpfs of so many KiB in it that only the child sees.
func ownMounts(t *testing.T, dir string, kib int) *child {
	t.Helper()
	c := spawnAs(t, gpuring.Faults{}, &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	})
	if a := c.ask(command{Do: "mount", Dir: dir, N: kib}); a.Err != "" {
		t.Skip("SKIPPED: needs a kernel that lets a user have mounts of its own: " + a.Err)
	}
	return c
}

// TestFullMemory: a full file system is one clear error, no signal, and leaves nothing behind.
func TestFullMemory(t *testing.T) {
	o := options(t, small)
	c := ownMounts(t, o.Dir, 512)
	a := c.ask(command{Do: "create", Options: &o})
	oneLine(t, errors.New(a.Err), gpuring.ErrNoSpace.Error(), "needs 1 MiB in "+o.Dir, "0 MiB free", "fewer slots")
	if a := c.must(command{Do: "list", Dir: o.Dir}); len(a.Names) != 0 {
		t.Errorf("files left: %v", a.Names)
	}
	o.Geometry.Width /= 4 // this fits
	c.must(command{Do: "create", Options: &o})
	c.must(command{Do: "publish"})
}

func TestReadOnlyFolder(t *testing.T) {
	o := options(t, small)
	c := ownMounts(t, o.Dir, 0)
	a := c.ask(command{Do: "create", Options: &o})
	oneLine(t, errors.New(a.Err), o.Dir, "read-only", "remount,rw")
}

func TestNameTaken(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"readable by others": func(path string) error { return os.WriteFile(path, nil, 0o644) },
		"symbolic link":      func(path string) error { return os.Symlink("/etc/hostname", path) },
		"folder":             func(path string) error { return os.Mkdir(path, 0o700) },
		"named pipe":         func(path string) error { return unix.Mkfifo(path, 0o600) },
	} {
		o := options(t, small)
		path := filepath.Join(o.Dir, "facetrack-lab-cam0.ctl")
		if err := put(path); err != nil {
			t.Fatal(err)
		}
		_, err := gpuring.Create(o)
		if !errors.Is(err, gpuring.ErrInUse) {
			t.Errorf("%s: %v, want ErrInUse", name, err)
		}
		oneLine(t, err, path, "remove it")
		if removed, err := gpuring.CleanStale(o.Dir, "lab"); err != nil || len(removed) != 0 {
			t.Errorf("%s: CleanStale: %v, %v", name, removed, err)
		}
	}
}

// TestSameFileName: a hyphen in a name makes two cameras share one file name; they do not share anything else.
func TestSameFileName(t *testing.T) {
	o := options(t, small)
	o.Rig, o.Camera = "a-b", "c"
	other := o
	other.Rig, other.Camera = "a", "b-c"
	w := create(t, o)
	w.NextSeq()
	_, err := gpuring.Create(other)
	if !errors.Is(err, gpuring.ErrInUse) {
		t.Errorf("%v, want ErrInUse", err)
	}
	oneLine(t, err, `camera "c" of rig "a-b"`, `camera "b-c" of rig "a"`)
	c := spawn(t, gpuring.Faults{})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c.must(command{Do: "create", Options: &o})
	c.must(command{Do: "publish"})
	c.kill()
	if removed, err := gpuring.CleanStale(o.Dir, "a"); err != nil || len(removed) != 0 {
		t.Errorf("CleanStale of rig a took another rig's files: %v, %v", removed, err)
	}
	if got := create(t, other).NextSeq(); got != 0 {
		t.Errorf("the sequence of another camera was inherited: %d", got)
	}
}

func TestOtherVersion(t *testing.T) {
	o := options(t, small)
	path := filepath.Join(o.Dir, "facetrack-lab-cam0.ctl")
	old := make([]byte, 8192)
	copy(old, "facring1\x63")
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	w := create(t, o)
	if got := publish(t, w).Seq; got != 0 {
		t.Errorf("first frame %d", got)
	}
	d := w.Descriptor()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteAt([]byte{0x63}, 8); err != nil {
		t.Fatal(err)
	}
	_, err = gpuring.Open(d, "reader")
	if !errors.Is(err, gpuring.ErrNotShared) {
		t.Errorf("%v, want ErrNotShared", err)
	}
	oneLine(t, err, "layout version 99", "same version")
}

func TestNotShared(t *testing.T) {
	o := options(t, small)
	w := create(t, o)
	o.Camera = "cam1"
	other := create(t, o).Descriptor()
	for name, change := range map[string]func(*gpuring.Descriptor){
		"other camera's pixels": func(d *gpuring.Descriptor) { d.PixelPath = other.PixelPath },
		"no control file":       func(d *gpuring.Descriptor) { d.ControlPath += "x" },
		"no pixel file":         func(d *gpuring.Descriptor) { d.PixelPath += "x" },
		"pixels for both":       func(d *gpuring.Descriptor) { d.ControlPath = d.PixelPath },
		"control for both":      func(d *gpuring.Descriptor) { d.PixelPath = d.ControlPath },
		"other nonce":           func(d *gpuring.Descriptor) { d.Nonce = "0123456789abcdef" },
		"no nonce":              func(d *gpuring.Descriptor) { d.Nonce = "" },
		"other ring":            func(d *gpuring.Descriptor) { d.Ring = "lab/cam0/1" },
		"control size":          func(d *gpuring.Descriptor) { d.ControlBytes++ },
		"pixel size":            func(d *gpuring.Descriptor) { d.PixelBytes++ },
		"more slots":            func(d *gpuring.Descriptor) { d.Geometry.Slots++ },
		"other width":           func(d *gpuring.Descriptor) { d.Geometry.Width /= 2; d.Geometry.Height *= 2 },
		"other format":          func(d *gpuring.Descriptor) { d.Geometry.Format = gpuring.YUYV },
		"no geometry":           func(d *gpuring.Descriptor) { d.Geometry = gpuring.Geometry{} },
	} {
		d := w.Descriptor()
		change(&d)
		if r, err := gpuring.Open(d, name); !errors.Is(err, gpuring.ErrNotShared) {
			t.Errorf("%s: reader %v, error %v; want ErrNotShared", name, r, err)
		}
	}
	if readers := w.Readers(); len(readers) != 0 {
		t.Errorf("readers %+v", readers)
	}
	for _, path := range []string{w.Descriptor().ControlPath, w.Descriptor().PixelPath} {
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := gpuring.Open(w.Descriptor(), "open to all"); !errors.Is(err, gpuring.ErrNotShared) {
			t.Errorf("%s with mode 644: %v, want ErrNotShared", path, err)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestForeignOwner needs the right to give a file away; where it lacks, nobody else can make one either.
func TestForeignOwner(t *testing.T) {
	w := create(t, options(t, small))
	d := w.Descriptor()
	if err := os.Chown(d.ControlPath, 65534, -1); err != nil {
		t.Skip("SKIPPED: needs the right to change a file's owner")
	}
	if _, err := gpuring.Open(d, "reader"); !errors.Is(err, gpuring.ErrNotShared) {
		t.Errorf("%v, want ErrNotShared", err)
	}
}

func TestFilesArePrivate(t *testing.T) {
	defer unix.Umask(unix.Umask(0o777))
	o := options(t, small)
	if err := os.Chmod(o.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w := create(t, o)
	for _, path := range []string{w.Descriptor().ControlPath, w.Descriptor().PixelPath} {
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: mode %v, error %v", path, info.Mode(), err)
		}
	}
}

func TestDescriptorIsJSON(t *testing.T) {
	w := create(t, options(t, small))
	text, err := json.Marshal(w.Descriptor())
	if err != nil {
		t.Fatal(err)
	}
	var d gpuring.Descriptor
	if err := json.Unmarshal(text, &d); err != nil || d != w.Descriptor() {
		t.Errorf("%s became %+v, error %v", text, d, err)
	}
}

// TestReaderCannotWrite: a reader's pixels are read-only memory.
func TestReaderCannotWrite(t *testing.T) {
	w := create(t, options(t, small))
	r, err := w.AttachLocal("reader")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	lease, err := r.Lease(publish(t, w))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a reader wrote into a frame")
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	lease.View().Host[0]++
}

func TestCleanStale(t *testing.T) {
	o := options(t, small)
	live := create(t, o)
	dead := o
	dead.Camera = "cam1"
	c := spawn(t, gpuring.Faults{})
	c.must(command{Do: "create", Options: &dead})
	otherRig := o
	otherRig.Rig = "lab2"
	c.must(command{Do: "create", Options: &otherRig})
	c.kill()
	half := filepath.Join(o.Dir, "facetrack-lab-cam2.pix.0123456789abcdef-0.tmp")
	stranger := filepath.Join(o.Dir, "facetrack-lab-notes.txt")
	for _, path := range []string{half, stranger} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var removed []string
	var err error
	for end := time.Now().Add(10 * time.Second); err == nil && len(removed) < 3 && time.Now().Before(end); { // a killed process's lock may come free a moment after it was waited for
		var now []string
		now, err = gpuring.CleanStale(o.Dir, "lab")
		removed = append(removed, now...)
	}
	slices.Sort(removed)
	want := []string{filepath.Join(o.Dir, "facetrack-lab-cam1.ctl"), filepath.Join(o.Dir, "facetrack-lab-cam1.pix"), half}
	if err != nil || !slices.Equal(removed, want) {
		t.Errorf("removed %v, error %v; want %v", removed, err, want)
	}
	left := []string{"facetrack-lab-cam0.ctl", "facetrack-lab-cam0.pix", "facetrack-lab-notes.txt", "facetrack-lab2-cam0.ctl", "facetrack-lab2-cam0.pix"}
	if got := names(t, o.Dir); !slices.Equal(got, left) {
		t.Errorf("left %v, want %v", got, left)
	}
	r, err := gpuring.Open(live.Descriptor(), "reader")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if _, err := gpuring.CleanStale(o.Dir, "no/rig"); !errors.Is(err, gpuring.ErrOptions) {
		t.Errorf("%v, want ErrOptions", err)
	}
}

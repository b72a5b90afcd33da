package doctor

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"facetrack/gpuring"
	"facetrack/internal/config"
)

// File systems in memory.
const (
	tmpfsMagic = 0x01021994
	ramfsMagic = 0x858458f6
)

const (
	usualWidth, usualHeight = 1920, 1080 // of a camera whose size nobody has said
	mib                     = 1 << 20

	seeFolder = "see the ring folder above"
)

func (d *doctor) dir() string { return d.o.Config.Ring.Dir }

func (d *doctor) ringFolder() Check {
	dir := d.dir()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fail(fmt.Sprintf("%s: %v", dir, err), fmt.Sprintf("mount a tmpfs there (mount -t tmpfs tmpfs %s), or set ring.dir", dir))
	}
	f, err := d.scratch()
	if err != nil {
		return fail(err.Error(), fmt.Sprintf("let this user write there (chmod 1777 %s), mount it writable, or set ring.dir", dir))
	}
	_ = f.Close()
	if kind := uint32(st.Type); kind != tmpfsMagic && kind != ramfsMagic { //nolint:unconvert // its type differs between processors
		return warn(fmt.Sprintf("%s is writable, but is no tmpfs (type %#x): frames may be written to a disk", dir, kind),
			"set ring.dir to a tmpfs, as /dev/shm is")
	}
	return ok(dir + " is a tmpfs and writable")
}

// scratch is a file of the ring folder without a name, gone with its Close.
func (d *doctor) scratch() (*os.File, error) {
	f, err := os.CreateTemp(d.dir(), "facetrack-doctor-")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// ringSpace compares what all rings take with what is free.
func (d *doctor) ringSpace() Check {
	var st unix.Statfs_t
	if err := unix.Statfs(d.dir(), &st); err != nil {
		return fail(fmt.Sprintf("%s: %v", d.dir(), err), seeFolder)
	}
	what, need := d.need()
	free := int64(st.Bavail) * int64(st.Bsize) //nolint:unconvert // their types differ between processors
	seen := fmt.Sprintf("%d MiB free in %s; %s may take %d MiB, and for a moment twice that when capture is started again",
		free/mib, d.dir(), what, (need+mib-1)/mib)
	cure := fmt.Sprintf("enlarge it (mount -o remount,size=%dM %s; in a container --shm-size=%dm or --ipc=host), or lower ring.slots",
		2*need/mib+1, d.dir(), 2*need/mib+1)
	switch {
	case free < need:
		return fail(seen, cure)
	case free < 2*need:
		return warn(seen+": it will wait until the other stages have let go of the old rings", cure)
	}
	return ok(seen)
}

// need is how many bytes the configured rings may take, in the largest pixel format. While capture is started again, the other stages
// may still have the rings before.
func (d *doctor) need() (what string, bytes int64) {
	cameras, slots := d.o.Config.Cameras, d.o.Config.Ring.Slots
	what = fmt.Sprintf("%d configured cameras with up to %d slots each", len(cameras), slots)
	if len(cameras) == 0 {
		cameras = []config.Camera{{}}
		what = fmt.Sprintf("a camera of %d×%d with up to %d slots", usualWidth, usualHeight, slots)
	}
	for _, c := range cameras {
		g := gpuring.Geometry{Width: c.Width, Height: c.Height, Format: gpuring.BGR}
		if c.Width <= 0 || c.Height <= 0 {
			g.Width, g.Height = usualWidth, usualHeight
		}
		bytes += int64(slots) * int64(g.FrameBytes())
	}
	return what, bytes
}

// fileLocks tries the locks by which processes notice each other's end: two openings of one file must exclude each other.
func (d *doctor) fileLocks() Check {
	first, err := os.CreateTemp(d.dir(), "facetrack-doctor-")
	if err != nil {
		return fail(err.Error(), seeFolder)
	}
	defer func() { _ = os.Remove(first.Name()); _ = first.Close() }()
	second, err := os.OpenFile(first.Name(), os.O_RDWR, 0)
	if err != nil {
		return fail(err.Error(), seeFolder)
	}
	defer func() { _ = second.Close() }()
	const cure = "use Linux 3.15 or newer, and a tmpfs for ring.dir; a sandbox (gVisor, for example) may have to be left"
	if err := lock(first); err != nil {
		return fail("open-file-description locks do not work in "+d.dir()+": "+err.Error(), cure)
	}
	if err := lock(second); !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
		return fail("a second lock of one byte is not refused in "+d.dir(), cure)
	}
	return ok("open-file-description locks work")
}

func lock(f *os.File) error {
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Len: 1})
}

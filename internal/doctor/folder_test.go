package doctor

import (
	"testing"

	"golang.org/x/sys/unix"

	"facetrack/gpuring"
	"facetrack/internal/config"
)

// A folder with room for the rings, but not for those before beside them, makes a restart of capture slow.
func TestRingSpaceForOne(t *testing.T) {
	const slots, width = 256, 16000
	var st unix.Statfs_t
	if err := unix.Statfs(gpuring.DefaultDir, &st); err != nil {
		t.Skip("SKIPPED: " + err.Error())
	}
	room := int64(st.Bavail) * int64(st.Bsize) //nolint:unconvert // their types differ between processors
	d := &doctor{o: Options{Config: config.Default()}}
	d.o.Config.Ring.Slots = slots
	d.o.Config.Cameras = []config.Camera{{Width: width, Height: int(room * 7 / 10 / (slots * width * 3))}}
	if d.o.Config.Cameras[0].Height == 0 {
		t.Skipf("SKIPPED: %s has %d MiB free", gpuring.DefaultDir, room/mib)
	}
	expect(t, d.ringSpace(), Warn, "will wait until the other stages", "--shm-size")
}

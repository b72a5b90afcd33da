package gpuring_test

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"facetrack/gpuring"
)

// A ring of a group is that group's and its owner's, whatever the umask.
func TestFilesOfAGroup(t *testing.T) {
	defer unix.Umask(unix.Umask(0o777))
	o := options(t, small)
	if err := os.Chmod(o.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	o.Group = strconv.Itoa(os.Getegid())
	w := create(t, o)
	d := w.Descriptor()
	for _, path := range []string{d.ControlPath, d.PixelPath} {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil || st.Mode&0o7777 != 0o660 || int(st.Gid) != os.Getegid() {
			t.Errorf("%s: mode %o, group %d, error %v", path, st.Mode, st.Gid, err)
		}
	}
	r, err := gpuring.Open(d, "reader")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestGroupsThatCannotBe(t *testing.T) {
	mine, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	other := 54321
	for slices.Contains(append(mine, os.Getegid()), other) {
		other++
	}
	for group, want := range map[string]string{"facetrack-none": "groupadd --system facetrack-none", strconv.Itoa(other): "usermod -aG", "-1": "not in the group"} {
		o := options(t, small)
		o.Group = group
		_, err := gpuring.Create(o)
		if !errors.Is(err, gpuring.ErrOptions) {
			t.Errorf("%s: %v, want ErrOptions", group, err)
		}
		oneLine(t, err, group, want)
	}
}

// shared is a group that the users of these tests have, and nobody else.
const shared, nobody = 54321, 65534

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: needs root, to run processes as other users")
	}
}

// Another user reads a ring if both have its group and the reader trusts it, and not otherwise.
func TestRingOfAnotherUser(t *testing.T) {
	needsRoot(t)
	o := options(t, small)
	if err := os.Chmod(o.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	o.Group = strconv.Itoa(shared)
	writer := spawnUser(t, nobody-1, shared)
	d := writer.must(command{Do: "create", Options: &o}).Descriptor
	ticket := writer.must(command{Do: "publish"}).Ticket

	member := spawnUser(t, nobody, shared)
	if a := member.ask(command{Do: "attach", Descriptor: d}); a.Err != "not shared" {
		t.Errorf("a member who does not trust the group: %q", a.Err)
	}
	member.must(command{Do: "attach", Descriptor: d, Group: o.Group})
	if a := member.must(command{Do: "hold", Tickets: []gpuring.Ticket{*ticket}}); a.Torn {
		t.Error("a member reads other pixels")
	}
	member.must(command{Do: "release"})

	stranger := spawnUser(t, nobody)
	for _, group := range []string{"", o.Group} {
		if a := stranger.ask(command{Do: "attach", Descriptor: d, Group: group}); a.Err != "not shared" {
			t.Errorf("a stranger with group %q: %q", group, a.Err)
		}
	}
}

// Without a group nobody else opens a ring, although all about it is known.
func TestPrivateRingOfAnotherUser(t *testing.T) {
	needsRoot(t)
	o := options(t, small)
	if err := os.Chmod(o.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	writer := spawnUser(t, nobody-1, shared)
	d := writer.must(command{Do: "create", Options: &o}).Descriptor
	stranger := spawnUser(t, nobody, shared)
	for _, group := range []string{"", strconv.Itoa(shared)} {
		if a := stranger.ask(command{Do: "attach", Descriptor: d, Group: group}); a.Err != "not shared" {
			t.Errorf("a stranger with group %q: %q", group, a.Err)
		}
	}
}

// A file that somebody has put in the place of a ring is not opened, whatever its mode.
func TestPlantedRing(t *testing.T) {
	needsRoot(t)
	o := options(t, small)
	if err := os.Chmod(o.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	planter := spawnUser(t, nobody, nobody)
	plant := o
	plant.Group = strconv.Itoa(nobody)
	d := planter.must(command{Do: "create", Options: &plant}).Descriptor
	if _, err := gpuring.Open(*d, "reader"); !errors.Is(err, gpuring.ErrNotShared) { // root could
		t.Errorf("%v, want ErrNotShared", err)
	}
	if _, err := gpuring.Create(o); !errors.Is(err, gpuring.ErrInUse) {
		t.Errorf("%v, want ErrInUse", err)
	}
}

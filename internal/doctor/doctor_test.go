package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/config"
	"facetrack/internal/cuda"
	"facetrack/internal/kernels"
)

func off(o *Options) { o.Config.CUDA.GPU = "off" }

// Without a GPU nothing is broken, and the trip through host memory is a real one.
func TestHostMemory(t *testing.T) {
	r := examine(t, "", off)
	trip := r.RoundTrips[TripShm]
	if r.Failed() || r.Transport != "shm" || !trip.OK || trip.Frames != tripFrames || trip.P50US <= 0 || trip.MaxUS < trip.P50US || trip.AttachMS <= 0 {
		t.Errorf("%+v", r)
	}
	if left, _ := filepath.Glob("/dev/shm/facetrack-doctor-*" + strconv.Itoa(os.Getpid()) + "*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestRingFolderIsMissing(t *testing.T) {
	r := examine(t, "", func(o *Options) {
		off(o)
		o.Config.Ring.Dir = filepath.Join(t.TempDir(), "none")
	})
	for _, name := range []string{"ring folder", "ring space", "file locks", "round trip by shm"} {
		if c := r.check(t, name); c.Status != Fail || c.Cure == "" {
			t.Errorf("%+v", c)
		}
	}
	if !r.Failed() || r.Transport != "copy" {
		t.Errorf("%+v", r)
	}
}

func TestConfigurationWithoutShm(t *testing.T) {
	r := examine(t, "", func(o *Options) { o.Config.Ring.Transports = []string{"copy"} })
	if r.Failed() || r.Transport != "copy" || !strings.Contains(r.Reason, "configuration") {
		t.Errorf("%+v", r)
	}
}

// A transport that the configuration forbids is not named, although it would work.
func TestNoTransportIsLeft(t *testing.T) {
	noGPU := "switches the GPU off"
	if _, err := cuda.Devices(); errors.Is(err, cuda.ErrNotBuilt) {
		noGPU = "built without CUDA"
	}
	for _, c := range []struct {
		transports []string
		dir        string
		why, cure  string
	}{
		{[]string{"cuda-ipc"}, "", noGPU, "add shm or copy to ring.transports"},
		{[]string{"cuda-ipc", "shm"}, "none", noGPU + "; processes cannot share", "add copy to ring.transports"},
		{[]string{"shm"}, "none", "processes cannot share", "add copy to ring.transports"},
	} {
		r := examine(t, "", func(o *Options) {
			off(o)
			o.Config.Ring.Transports = c.transports
			if c.dir != "" {
				o.Config.Ring.Dir = filepath.Join(t.TempDir(), c.dir)
			}
		})
		expect(t, r.check(t, "transport"), Fail, "allows only "+strings.Join(c.transports, ", ")+", and ", c.cure)
		if r.Transport != "none" || !strings.Contains(r.Reason, c.why) || !strings.Contains(r.Reason, c.cure) {
			t.Errorf("%v: %s: %s", c.transports, r.Transport, r.Reason)
		}
	}
}

func TestRingSpace(t *testing.T) {
	d := &doctor{o: Options{Config: config.Default()}}
	if c := d.ringSpace(); c.Status != OK || !strings.Contains(c.Seen, "48 MiB") { // 8 × 1920×1080×3
		t.Errorf("%+v", c)
	}
	d.o.Config.Cameras = []config.Camera{{Width: 640, Height: 480}, {Width: 16000, Height: 16000}}
	d.o.Config.Ring.Slots = 256
	if what, need := d.need(); need != 256*3*(640*480+16000*16000) || !strings.Contains(what, "2 configured") {
		t.Errorf("%s: %d", what, need)
	}
	if c := d.ringSpace(); c.Status != Fail || !strings.Contains(c.Cure, "--shm-size") {
		t.Errorf("%+v", c)
	}
}

func TestSecondProcessHangs(t *testing.T) {
	note := filepath.Join(t.TempDir(), "pid")
	t.Setenv(roleVariable, note)
	r := examine(t, "", func(o *Options) {
		off(o)
		o.Timeout = time.Second
	})
	c := r.check(t, "round trip by shm")
	if c.Status != Fail || !strings.Contains(c.Seen, "did not answer") || c.Cure == "" || r.Transport != "copy" {
		t.Errorf("%+v, transport %s", c, r.Transport)
	}
	text, _ := os.ReadFile(note)
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		return // it was killed before it came so far
	}
	for end := time.Now().Add(time.Minute); !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d is there still", pid)
		}
	}
}

func TestSecondProcessDies(t *testing.T) {
	for role, want := range map[string]string{"dies": "exit status 3): a last word", "babbles": "ended"} {
		t.Setenv(roleVariable, role)
		c := examine(t, "", off).check(t, "round trip by shm")
		if c.Status != Fail || !strings.Contains(c.Seen, want) || c.Cure == "" {
			t.Errorf("%s: %+v", role, c)
		}
	}
}

func TestNoSecondProcess(t *testing.T) {
	c := examine(t, "", func(o *Options) {
		off(o)
		o.Child = []string{"/nonexistent/facetrack"}
	}).check(t, "round trip by shm")
	if c.Status != Fail || !strings.Contains(c.Seen, "cannot be started") {
		t.Errorf("%+v", c)
	}
}

// The child looks at every byte.
func TestWrongBytesAreNoticed(t *testing.T) {
	g := tripGeometry
	w, err := gpuring.Create(gpuring.Options{Dir: t.TempDir(), Rig: "doctor", Camera: "cam0", Geometry: g})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	d := w.Descriptor()
	v := &visitor{}
	defer v.close()
	if _, err := v.do(question{Op: opOpen, Ring: &d}); err != nil {
		t.Fatal(err)
	}
	rowBytes, rows := shape(g)
	if rowBytes*rows != g.FrameBytes() || rowBytes != g.Width {
		t.Fatalf("%d rows of %d bytes", rows, rowBytes)
	}
	for _, wrong := range []int{-1, 0, g.FrameBytes() / 2, g.FrameBytes() - 1} {
		claim, err := w.Begin()
		if err != nil {
			t.Fatal(err)
		}
		seq := w.NextSeq()
		kernels.StampHost(claim.View().Host, rowBytes, rows, seq)
		if wrong >= 0 {
			claim.View().Host[wrong] ^= 1
		}
		ticket, err := claim.Publish(seq)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.do(question{Op: opRead, Ticket: ticket}); errors.Is(err, gpuring.ErrTorn) != (wrong >= 0) {
			t.Errorf("byte %d: %v", wrong, err)
		}
	}
}

// The child answers nonsense with an error and goes on.
func TestServe(t *testing.T) {
	var out bytes.Buffer
	if err := Serve(strings.NewReader(`{"op":"read"}{"op":"open"}{"op":"prove"}`), &out); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(&out)
	for range 3 {
		var a answer
		if err := dec.Decode(&a); err != nil || a.Error == "" {
			t.Errorf("%+v %v", a, err)
		}
	}
	if err := Serve(strings.NewReader(`nonsense`), &out); err == nil {
		t.Error("nonsense was accepted")
	}
}

func TestPrint(t *testing.T) {
	var out strings.Builder
	r := Report{Transport: "shm", Reason: "no GPU", Checks: []Check{
		{Name: "é", Status: OK, Seen: "fine"}, {Name: "long name", Status: Fail, Seen: "bad", Cure: "mend it"}, {Name: "b", Status: Skipped, Seen: "-"},
	}}
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	want := "ok    é          fine\nFAIL  long name  bad\n                 → mend it\n-     b          -\n\nTransport on this machine: shm (no GPU).\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

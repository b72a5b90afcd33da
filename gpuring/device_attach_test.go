package gpuring_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"facetrack/gpuring"
	"facetrack/gpuring/ringtest"
	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/fault"
)

// plan lets driver calls of this process fail until the test ends.
func plan(t *testing.T, list string) {
	t.Helper()
	fault.Plan(list)
	t.Cleanup(func() { fault.Plan("") })
}

func deviceRing(t *testing.T, ctx *cuda.Context) gpuring.DeviceWriter {
	t.Helper()
	o := options(t, small)
	o.GPU = ctx
	return create(t, o).(gpuring.DeviceWriter)
}

// TestDeviceDescriptor: slots are aligned, lie apart, and the allocation is whole pages of device memory.
func TestDeviceDescriptor(t *testing.T) {
	ctx := cudatest.Use(t)
	d := deviceRing(t, ctx).Device()
	if d.Stride%512 != 0 || d.Stride < int64(small.FrameBytes()) || d.First%512 != 0 || d.Bytes%(2<<20) != 0 ||
		d.First+int64(small.Slots)*d.Stride > d.Bytes || d.GPU != ctx.Device().UUID.String() || d.PID == 0 {
		t.Errorf("%+v", d)
	}
	if len(d.Events) != small.Slots+1 || d.EventsError != "" {
		t.Errorf("%d events, %s", len(d.Events), d.EventsError)
	}
}

// TestCreateWithoutWorkingGPU: whatever the GPU cannot do is ErrDevice with the call's name, nothing is left behind, and the
// ring in host memory goes on where the one before it was.
func TestCreateWithoutWorkingGPU(t *testing.T) {
	ctx := cudatest.Use(t)
	for _, c := range []struct {
		call string
		code cuda.Code
	}{
		{"cuMemHostRegister", cuda.NotPermitted}, {"cuMemAlloc", cuda.OutOfMemory}, {"cuIpcGetMemHandle", cuda.NotSupported},
		{"cuStreamCreate", cuda.OutOfMemory}, {"cuMemHostAlloc", cuda.OutOfMemory},
	} {
		t.Run(c.call, func(t *testing.T) {
			o := options(t, small)
			dead := spawn(t, gpuring.Faults{})
			dead.must(command{Do: "create", Options: &o})
			last := dead.must(command{Do: "publish"}).Ticket.Seq
			dead.kill()
			o.GPU = ctx
			before := free(t, ctx)
			plan(t, fmt.Sprintf("%s=%d", c.call, c.code))
			var err error
			ringtest.Wait(t, "the dead writer's camera is free", func() bool {
				_, err = gpuring.Create(o)
				return !errors.Is(err, gpuring.ErrInUse)
			})
			var driver *cuda.Error
			if !errors.Is(err, gpuring.ErrDevice) || !errors.As(err, &driver) || driver.Call != c.call || driver.Code != c.code {
				t.Errorf("Create: %v, want ErrDevice of %s", err, c.call)
			}
			fault.Plan("")
			ringtest.Wait(t, "device memory is back", func() bool { return free(t, ctx) >= before })
			o.GPU = nil
			w := create(t, o)
			if got := publish(t, w).Seq; got != last+1 {
				t.Errorf("frame %d follows frame %d", got, last)
			}
			if got := names(t, o.Dir); len(got) != 2 {
				t.Errorf("files %v", got)
			}
		})
	}
}

// TestEventsThatCannotBeExported: the ring works all the same, by ready words.
func TestEventsThatCannotBeExported(t *testing.T) {
	ctx := cudatest.Use(t)
	plan(t, "cuIpcGetEventHandle=801")
	w := deviceRing(t, ctx)
	fault.Plan("")
	if d := w.Device(); len(d.Events) != 0 || !strings.Contains(d.EventsError, "cuIpcGetEventHandle") {
		t.Errorf("%d events, %q", len(d.Events), d.EventsError)
	}
	c, d := spawn(t, gpuring.Faults{}), w.Descriptor()
	if a := c.ask(command{Do: "gpu open", Descriptor: &d, Sync: gpuring.SyncEvents}); a.Err != "device" || !strings.Contains(a.Text, "cuIpcGetEventHandle") {
		t.Errorf("with events: %+v, want ErrDevice that names the writer's reason", a)
	}
	readsFrames(t, w, c, gpuring.SyncAuto, gpuring.SyncMemOps)
}

// readsFrames opens a reader in another process and has it read frames; it must use the method that is wanted.
func readsFrames(t *testing.T, w gpuring.DeviceWriter, c *child, ask, want gpuring.Sync) {
	t.Helper()
	d := w.Descriptor()
	a := c.must(command{Do: "gpu open", Descriptor: &d, Sync: ask})
	if a.Text != string(want) {
		t.Errorf("sync %s, want %s", a.Text, want)
	}
	for range 2 * small.Slots {
		ringtest.Wait(t, "a slot is free", func() bool { return w.Stats().UploadPending < small.Slots })
		ticket := publish(t, w)
		l := c.must(command{Do: "gpu lease", N: a.N, Tickets: []gpuring.Ticket{ticket}})
		got := c.must(command{Do: "gpu get", N: l.N, Options: &gpuring.Options{Geometry: small}})
		if !ringtest.Whole(got.Pixels, ticket.Seq) {
			t.Fatalf("frame %d is torn", ticket.Seq)
		}
		c.must(command{Do: "gpu release", N: l.N})
	}
	c.must(command{Do: "gpu close", N: a.N})
}

// TestSyncMethods: which method a reader takes when others fail, and what it says when none is left.
func TestSyncMethods(t *testing.T) {
	ctx := cudatest.Use(t)
	w := deviceRing(t, ctx)
	d := w.Descriptor()
	const events, waits, writes = "cuIpcOpenEventHandle=205", "cuStreamWaitValue64=801", "cuStreamWriteValue64=801"
	for _, c := range []struct {
		faults string
		ask    gpuring.Sync
		want   gpuring.Sync // "": refused
		names  []string
	}{
		{"", "", gpuring.SyncEvents, nil},
		{"", gpuring.SyncEvents, gpuring.SyncEvents, nil},
		{"", gpuring.SyncMemOps, gpuring.SyncMemOps, nil},
		{events, gpuring.SyncAuto, gpuring.SyncMemOps, nil},
		{waits, gpuring.SyncAuto, gpuring.SyncEvents, nil},
		{writes, gpuring.SyncAuto, gpuring.SyncEvents, nil},
		{events, gpuring.SyncEvents, "", []string{"cuIpcOpenEventHandle", "IPC namespace", "/dev/shm"}},
		{waits, gpuring.SyncMemOps, "", []string{"cuStreamWaitValue64"}},
		{events + "," + waits, gpuring.SyncAuto, "", []string{"cuIpcOpenEventHandle", "cuStreamWaitValue64"}},
		{"cuIpcOpenMemHandle=208", gpuring.SyncAuto, "", []string{"cuIpcOpenMemHandle"}},
	} {
		t.Run(string(c.ask)+" "+c.faults, func(t *testing.T) {
			reader := spawn(t, gpuring.Faults{})
			reader.must(command{Do: "plan", Name: c.faults})
			if c.want != "" {
				readsFrames(t, w, reader, c.ask, c.want)
				return
			}
			a := reader.ask(command{Do: "gpu open", Descriptor: &d, Sync: c.ask})
			if a.Err != "device" {
				t.Errorf("%+v, want ErrDevice", a)
			}
			for _, name := range c.names {
				if !strings.Contains(a.Text, name) {
					t.Errorf("%q does not name %s", a.Text, name)
				}
			}
		})
	}
	if _, err := gpuring.OpenDevice(d, "reader", gpuring.DeviceOptions{Sync: "polling"}); !errors.Is(err, gpuring.ErrOptions) {
		t.Errorf("an unknown method: %v, want ErrOptions", err)
	}
}

// TestImportedOnce: a process opens a handle once, however many readers it has.
func TestImportedOnce(t *testing.T) {
	ctx := cudatest.Use(t)
	w := deviceRing(t, ctx)
	d, c := w.Descriptor(), spawn(t, gpuring.Faults{})
	c.must(command{Do: "plan", Name: "cuIpcOpenMemHandle=208@1"}) // the second call fails
	for range 3 {
		c.must(command{Do: "gpu open", Descriptor: &d})
	}
	c.must(command{Do: "gpu close", N: 1})
	c.must(command{Do: "gpu open", Descriptor: &d}) // two still use it
	for _, n := range []int{0, 2, 3} {
		c.must(command{Do: "gpu close", N: n})
	}
	if a := c.ask(command{Do: "gpu open", Descriptor: &d}); a.Err != "device" {
		t.Errorf("memory that was closed by all was not opened again: %+v", a)
	}
}

// TestProof: a link counts when the reader's GPU reads what the writer was asked to write, and only then.
func TestProof(t *testing.T) {
	ctx := cudatest.Use(t)
	w := deviceRing(t, ctx)
	d, c := w.Descriptor(), spawn(t, gpuring.Faults{})
	c.must(command{Do: "gpu open", Descriptor: &d})
	local := openDevice(t, d, gpuring.DeviceOptions{})
	challenge := [64]byte{1, 2, 3, 63: 4}
	var cell int
	for range 40 { // round all the cells
		challenge[5]++
		var err error
		if cell, err = w.WriteProof(challenge); err != nil {
			t.Fatal(err)
		}
		if err := local.Prove(cell, challenge); err != nil {
			t.Fatal(err)
		}
	}
	other := challenge
	other[7]++
	for _, p := range []struct {
		faults    string
		cell      int
		challenge [64]byte
		want      string
	}{
		{"", cell, challenge, ""}, {"", cell, other, "canary"}, {"", cell + 1, challenge, "canary"},
		{"canary=zeros", cell, challenge, "zeros"}, {"canary=stale", cell, challenge, "canary"},
	} {
		c.must(command{Do: "plan", Name: p.faults})
		if a := c.ask(command{Do: "gpu prove", N: p.cell, Challenge: &p.challenge}); a.Err != p.want {
			t.Errorf("cell %d, faults %q: %+v, want %q", p.cell, p.faults, a, p.want)
		}
	}
	if _, err := w.WriteProof([64]byte{}); !errors.Is(err, gpuring.ErrOptions) {
		t.Errorf("a challenge of zeros: %v, want ErrOptions", err)
	}
	if err := local.Prove(32, challenge); !errors.Is(err, gpuring.ErrOptions) {
		t.Errorf("a cell past the end: %v, want ErrOptions", err)
	}
}

// TestBadDeviceDescriptor: numbers that came from elsewhere are not believed.
func TestBadDeviceDescriptor(t *testing.T) {
	ctx := cudatest.Use(t)
	w := deviceRing(t, ctx)
	for name, change := range map[string]func(*gpuring.DeviceMemory){
		"stride": func(d *gpuring.DeviceMemory) { d.Stride *= 2 }, "first": func(d *gpuring.DeviceMemory) { d.First += 512 },
		"ready": func(d *gpuring.DeviceMemory) { d.Ready -= 8 }, "proofs": func(d *gpuring.DeviceMemory) { d.Proofs = 64 },
		"bytes": func(d *gpuring.DeviceMemory) { d.Bytes += 2 << 20 }, "events": func(d *gpuring.DeviceMemory) { d.Events = d.Events[1:] },
	} {
		d, memory := w.Descriptor(), *w.Device()
		change(&memory)
		d.Device = &memory
		if r, err := gpuring.OpenDevice(d, name, gpuring.DeviceOptions{GPU: ctx}); !errors.Is(err, gpuring.ErrNotShared) {
			t.Errorf("%s: reader %v, error %v; want ErrNotShared", name, r, err)
		}
	}
	host := create(t, options(t, small)).Descriptor()
	if _, err := gpuring.OpenDevice(host, "reader", gpuring.DeviceOptions{GPU: ctx}); !errors.Is(err, gpuring.ErrNotShared) {
		t.Errorf("a ring without device memory: %v, want ErrNotShared", err)
	}
}

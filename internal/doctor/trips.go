package doctor

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/kernels"
)

const (
	tripFrames = 20 // after the first, which is not counted
	grace      = 5 * time.Second
)

// tripGeometry is 1080p NV12; the checks take its planes as one of rows.
var tripGeometry = gpuring.Geometry{Width: 1920, Height: 1080, Format: gpuring.NV12, Slots: 4}

// tripRig is the rig of the doctor's rings; the camera is the process.
const tripRig = "doctor"

// roundTrips makes a ring and lets second processes read it in each way.
func (d *doctor) roundTrips() {
	_, _ = gpuring.CleanStale(d.dir(), tripRig) // of doctors that were killed; a folder that is not there shows below
	w := d.deviceRing()
	if w == nil {
		var err error
		if w, err = gpuring.Create(d.ringOptions()); err != nil {
			c := fail(err.Error(), seeFolder)
			d.add("round trip by shm", c)
			d.report.RoundTrips[TripShm] = Trip{Error: c.Seen}
			return
		}
	}
	defer func() { _ = w.Close() }()
	if w.Descriptor().Device != nil {
		events, memOps := d.trip(w, gpuring.SyncEvents), d.trip(w, gpuring.SyncMemOps)
		d.report.RoundTrips[TripEvents], d.report.RoundTrips[TripMemOps] = events, memOps
		d.add("round trip by cuda-ipc, events", d.judge(events, memOps, gpuring.SyncMemOps))
		d.add("round trip by cuda-ipc, memops", d.judge(memOps, events, gpuring.SyncEvents))
	}
	shm := d.trip(w, "")
	d.report.RoundTrips[TripShm] = shm
	d.add("round trip by shm", d.judge(shm, Trip{}, ""))
}

func (d *doctor) ringOptions() gpuring.Options {
	return gpuring.Options{Dir: d.dir(), Rig: tripRig, Camera: fmt.Sprintf("p%d", os.Getpid()), Geometry: tripGeometry}
}

// deviceRing makes a ring with device memory, or says why there is none.
func (d *doctor) deviceRing() gpuring.Writer {
	if why := d.sharable(); why != "" {
		d.add("ring on the GPU", skipped(why))
		return nil
	}
	if d.gpu == nil {
		d.add("ring on the GPU", skipped("no GPU context, see above"))
		return nil
	}
	o := d.ringOptions()
	o.GPU = d.gpu
	w, err := gpuring.Create(o)
	if err != nil {
		d.add("ring on the GPU", failed("", err))
		return nil
	}
	seen := fmt.Sprintf("made: %d MiB", w.Descriptor().Device.Bytes/mib)
	if w.Descriptor().Device.EventsError != "" {
		d.add("ring on the GPU", ok(seen+", shared without events"))
	} else {
		d.add("ring on the GPU", ok(seen+", shared with events"))
	}
	return w
}

// judge makes a check of a trip. The two ways to wait on a GPU replace each other unless the configuration insists on one, which
// is to change then.
func (d *doctor) judge(t, other Trip, otherWay gpuring.Sync) Check {
	switch {
	case t.OK:
		return ok(fmt.Sprintf("attached in %.1f ms, %d frames whole, 1080p NV12 to a second process and back %.0f µs p50, %.0f µs at most",
			t.AttachMS, t.Frames, t.P50US, t.MaxUS))
	case other.OK && (d.o.Config.CUDA.Sync == "auto" || d.o.Config.CUDA.Sync == string(otherWay)):
		return warn(t.Error, t.Cure+"; "+string(otherWay)+" are used until then")
	case other.OK:
		return fail(t.Error, t.Cure+", or set cuda.sync to auto")
	}
	return fail(t.Error, t.Cure)
}

// trip runs one second process through the ring of w.
func (d *doctor) trip(w gpuring.Writer, sync gpuring.Sync) Trip {
	t := Trip{Sync: string(sync)}
	err := d.possible(w, sync)
	if err == nil {
		err = d.travel(w, sync, &t)
	}
	if err == nil {
		t.OK = true
		return t
	}
	t.Error, t.Cure = err.Error(), cureOf(err)
	var f *failure
	if errors.As(err, &f) {
		t.Cure = f.cure
	}
	return t
}

// possible knows what this GPU cannot do, so that nobody has to read it out of a failed trial.
func (d *doctor) possible(w gpuring.Writer, sync gpuring.Sync) error {
	switch {
	case sync == gpuring.SyncMemOps && !d.device.MemOps64:
		return &failure{"this GPU has no 64-bit stream memory operations", "take a GPU that has them"}
	case sync == gpuring.SyncEvents && w.Descriptor().Device.EventsError != "":
		return &failure{"this GPU cannot share events: " + w.Descriptor().Device.EventsError, noEvents}
	}
	return nil
}

func (d *doctor) travel(w gpuring.Writer, sync gpuring.Sync, t *Trip) error {
	c, err := d.start()
	if err != nil {
		return fmt.Errorf("the second process cannot be started: %w", err)
	}
	err = d.visit(c, w, sync, t)
	if err != nil {
		c.end(0)
	} else {
		c.end(grace)
	}
	return err
}

func (d *doctor) visit(c *child, w gpuring.Writer, sync gpuring.Sync, t *Trip) error {
	ring := w.Descriptor()
	a, err := c.ask(d.ctx, question{Op: opOpen, Ring: &ring, Sync: sync})
	if err != nil {
		return fmt.Errorf("open the ring: %w", err)
	}
	t.AttachMS, t.Sync = a.AttachMS, a.Sync
	if sync != "" {
		if err := d.prove(c, w.(gpuring.DeviceWriter)); err != nil {
			return fmt.Errorf("prove that the memory is the same: %w", err)
		}
	}
	times := make([]float64, 0, tripFrames)
	for i := range tripFrames + 1 {
		us, err := d.frame(c, w)
		if err != nil {
			return fmt.Errorf("frame %d: %w", i, err)
		}
		if i > 0 {
			times = append(times, us)
		}
	}
	slices.Sort(times)
	t.Frames, t.P50US, t.MaxUS = tripFrames, times[len(times)/2], times[len(times)-1]
	return nil
}

// prove has the child read a fresh random cell on the GPU.
func (d *doctor) prove(c *child, w gpuring.DeviceWriter) error {
	var challenge [64]byte
	if _, err := rand.Read(challenge[:]); err != nil {
		return err
	}
	cell, err := w.WriteProof(challenge)
	if err != nil {
		return err
	}
	_, err = c.ask(d.ctx, question{Op: opProve, Cell: cell, Challenge: challenge[:]})
	return err
}

// claim waits for a slot: the child has given all of them back, but uploads of frames before may be under way.
func (d *doctor) claim(w gpuring.Writer) (gpuring.Claim, error) {
	for deadline := time.Now().Add(d.o.Timeout); ; time.Sleep(time.Millisecond) {
		c, err := w.Begin()
		if !errors.Is(err, gpuring.ErrNoFreeSlot) || time.Now().After(deadline) {
			return c, err
		}
	}
}

// frame writes a frame and has the child read it. The time begins with the frame in host memory.
func (d *doctor) frame(c *child, w gpuring.Writer) (us float64, err error) {
	claim, err := d.claim(w)
	if err != nil {
		return 0, err
	}
	seq := w.NextSeq()
	rowBytes, rows := shape(tripGeometry)
	kernels.StampHost(claim.View().Host, rowBytes, rows, seq)
	began := time.Now()
	ticket, err := claim.Publish(seq)
	if err != nil {
		return 0, err
	}
	a, err := c.ask(d.ctx, question{Op: opRead, Ticket: ticket})
	return math.Round(10*(microseconds(began)-a.CheckUS)) / 10, err
}

package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// conclude says which transport the stages will find, as they look for it: the first of those that work.
func (d *doctor) conclude() {
	r := &d.report
	events, memOps, shm := r.RoundTrips[TripEvents], r.RoundTrips[TripMemOps], r.RoundTrips[TripShm]
	on := fmt.Sprintf("pixels are uploaded once and read on GPU %d, %s", d.device.Ordinal, d.device.Name)
	sync := d.o.Config.CUDA.Sync
	switch {
	case events.OK && sync != TripMemOps:
		r.Transport, r.Reason = "cuda-ipc", on+"; uploads are waited for by events"
	case memOps.OK && sync != TripEvents:
		r.Transport, r.Reason = "cuda-ipc", on+"; uploads are waited for by memory operations"
	case shm.OK && d.allowed("shm"):
		r.Transport, r.Reason = "shm", "pixels are read in host memory, because "+d.why()
	case d.allowed("copy"):
		r.Transport, r.Reason = "copy", "pixels are copied over NATS, because "+d.whyNotShm()
	default:
		d.nothingLeft()
	}
}

// nothingLeft says that no stage will see a pixel, and which transport would help.
func (d *doctor) nothingLeft() {
	var whys []string
	cure := "add shm or copy to ring.transports"
	if d.allowed("cuda-ipc") {
		whys = append(whys, d.why())
	}
	if d.allowed("shm") {
		whys = append(whys, d.whyNotShm())
	}
	if !d.report.RoundTrips[TripShm].OK {
		cure = "add copy to ring.transports"
	}
	seen := fmt.Sprintf("ring.transports allows only %s, and %s", strings.Join(d.o.Config.Ring.Transports, ", "), strings.Join(whys, "; "))
	d.add("transport", fail("none is left: "+seen, cure))
	d.report.Transport, d.report.Reason = "none", seen+": "+cure
}

func (d *doctor) allowed(transport string) bool {
	return slices.Contains(d.o.Config.Ring.Transports, transport)
}

// why says why there is no cuda-ipc.
func (d *doctor) why() string {
	if d.without != "" {
		return d.without
	}
	if why := d.sharable(); why != "" {
		return why
	}
	return "a GPU is here but its memory cannot be shared, see above"
}

func (d *doctor) whyNotShm() string {
	if !d.allowed("shm") {
		return "the configuration does not allow shm"
	}
	return "processes cannot share host memory, see above"
}

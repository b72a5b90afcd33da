package app

import (
	"encoding/json"
	"fmt"

	"facetrack/internal/stage/capture"
	"facetrack/internal/telemetry"
)

// pixelsBy says in words how a process and the pixels of a camera come together.
func pixelsBy(c telemetry.CameraStats) string {
	switch {
	case c.Link != nil:
		return c.Link.String()
	case c.State == "":
		return "-"
	}
	if ring, ok := ringOf(c); ok {
		return c.State + "; " + ringText(ring)
	}
	return c.State
}

// ringOf reads what capture says about the ring; it has come as JSON.
func ringOf(c telemetry.CameraStats) (ring capture.RingStatus, ok bool) {
	data, err := json.Marshal(c.Ring)
	if c.Ring == nil || err != nil || json.Unmarshal(data, &ring) != nil {
		return ring, false
	}
	return ring, ring.Slots > 0
}

// ringText is as "ring 5 deep (4 to 8), 2 held, 99 uploads to GPU-…".
func ringText(r capture.RingStatus) string {
	text := fmt.Sprintf("ring %d deep (%d to %d), %d held, ", r.Depth, r.MinSlots, r.Slots, r.Held)
	if r.GPU != "" {
		return text + fmt.Sprintf("%d uploads to %s", r.Uploads, r.GPU)
	}
	return text + "in host memory"
}

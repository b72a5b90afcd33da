package gpuring_test

import (
	"fmt"
	"os"

	"facetrack/gpuring"
)

func Example() {
	dir, err := os.MkdirTemp("", "rings-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	w, err := gpuring.Create(gpuring.Options{
		Dir: dir, Rig: "lab", Camera: "cam0",
		Geometry: gpuring.Geometry{Width: 2, Height: 1, Format: gpuring.BGR, Slots: 2},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = w.Close() }()
	r, err := gpuring.Open(w.Descriptor(), "detect") // usually in another process
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = r.Close() }()

	claim, err := w.Begin()
	if err != nil {
		fmt.Println(err)
		return
	}
	copy(claim.View().Host, []byte{10, 20, 30, 40, 50, 60})
	ticket, err := claim.Publish(w.NextSeq())
	if err != nil {
		fmt.Println(err)
		return
	}
	lease, err := r.Lease(ticket)
	if err != nil {
		fmt.Println(err)
		return
	}
	sum := 0
	for _, value := range lease.View().Host {
		sum += int(value)
	}
	if lease.Release() == nil { // the pixels were whole all the time
		fmt.Println("frame", ticket.Seq, "sum", sum)
	}
	// Output: frame 0 sum 210
}

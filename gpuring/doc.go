// Package gpuring is the ring of frames that one camera's capture process shares with its consumers: a control
// block in shared memory, and pixels in host memory and, with a GPU, in device memory too. The writer never waits
// for a reader; a reader leases a slot, and whatever it computes counts only if the lease was still valid at the end.
// PROTOCOL.md draws the whole of it.
//
// A ring is two files, facetrack-<rig>-<camera>.ctl and .pix, mode 0600, that belong to the user of all processes; with Options.Group
// they have mode 0660 and belong to that group. Their names can be guessed: their mode is what keeps others out.
// Everything shared is a 64-bit word that is only touched atomically, and a row of byte locks that the kernel
// drops when their process ends.
//
//	w, err := gpuring.Create(gpuring.Options{Rig: "lab", Camera: "cam0", Geometry: g})
//	claim, err := w.Begin()                     // ErrNoFreeSlot: drop the frame
//	copy(claim.View().Host, pixels)
//	ticket, err := claim.Publish(w.NextSeq())   // send the ticket
//
//	r, err := gpuring.Open(w.Descriptor(), "detect")
//	lease, err := r.Lease(ticket)               // ErrStale, ErrClosed, ErrRevoked
//	result := compute(lease.View())
//	if lease.Release() == nil { use(result) }   // else discard it
//
// With Options.GPU, Publish also queues the upload of the host slot, and consumers may read the frame where it is in
// device memory. They wait for it on the GPU, never on the host:
//
//	r, err := gpuring.OpenDevice(d, "detect", gpuring.DeviceOptions{GPU: ctx})
//	lease, err := r.Lease(ticket)
//	err = lease.View().Fence.Wait(stream)       // queues the wait and goes on
//	err = work(stream, lease.View().Device)     // queues kernels
//	err = stream.Synchronize()                  // or an event behind the work
//	if lease.Release() == nil { use(result) }   // ErrTorn: the frame never came; discard it
package gpuring

// Package ipc is how the processes of a rig talk: subjects, messages, and the link between a camera's ring
// and its consumers.
//
// Messages are JSON on `face.<rig>.<camera>.<kind>` and never carry pixels. A consumer turns a [Frame] into
// pixels with its [Link]:
//
//	consumer                                     capture
//	   | <- .invite {ring} ------------------------- |  a new ring: before its first frame, and beside them after a change
//	   | -- request .ring {attach} ----------------> |  [Server]
//	   | <- descriptor, geometry, transports ------- |  with CUDA handles, opened once and never per frame
//	   |    tries cuda-ipc, shm, copy in this order  |
//	   | -- request .ring {prove, challenge} ------> |  cuda-ipc only: capture writes random bytes into
//	   | <- cell ----------------------------------- |  device memory, the consumer's GPU reads them back
//	   | -- {identity} in answer to .invite -------> |  attached, or why not
//	   | <= .frame {seq, ring, slot, generation} ==> |  every frame
//	   |    cuda-ipc, shm: leases the slot itself    |
//	   | -- request .pixels {slot, generation} ----> |  copy only: the server leases the slot,
//	   | <- chunks {index, total, crc} ------------- |  copies it, checks the lease, sends
//	   | -- request .ring {ping} ------------------> |  copy only: a silent consumer is dropped
//	   | -- .release ------------------------------> |  copy only: the consumer leaves
//
// A link that breaks attaches again by itself, on the next rung when it has to, and [Link.Status] says which
// transport it uses and why not a faster one. Where the stages are one process, the first rung uses capture's device
// memory as it is and is called cuda. Work on the CPU gets a frame's pixels with [Lease.Host], work on the GPU with the
// address and the fence of its View. [Drops] and [Acker] account for frames, [Connect] makes the
// connection all processes share, and [OpenBucket] keeps ring state, [OpenSettings] the configuration.
//
// What a server keeps of a rig lies in its [ResultsStream]: messages as they were said, and on `face.<rig>.session.<id>.begin` and `.end`
// where one session begins and ends.
package ipc

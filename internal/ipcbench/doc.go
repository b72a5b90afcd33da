// Package ipcbench measures the ways a frame can take from host memory in one process to a kernel of another, side by
// side in one run.
//
// This process is the producer, and holds an embedded NATS server; a second one, started from the same program, is the
// consumer. Each transport runs in many short rounds, in rotation, so that whatever disturbs the machine disturbs all of
// them alike. A frame's time begins when it is complete in host memory (t0, CLOCK_MONOTONIC, carried as t_capture_ns) and
// ends when the consumer's host knows that its kernel has ended (t1, the same clock). Two kernels take turns, frame
// by frame: one that reads a single tile, which is an upper bound of when a kernel may start to read, and one that reads
// and checks every byte, whose own work is part of the figure. Either way every byte is checked in the end: a frame that is
// not what was written is counted as a mismatch.
//
//	producer                                              consumer
//	   | -- open {transport, descriptor} ------------------> |  JSON lines on stdin and stdout, before and between rounds
//	   | -- round {…} -------------------------------------> |  subscribes
//	   | stamps a frame, t0                                  |
//	   | == .frame (ipc.Frame, over NATS) =================> |  leases, waits or uploads, runs a kernel, t1
//	   | <========================= .ack (over NATS) ======= |  checks every byte, releases
//	   | -- finish ----------------------------------------> |
//	   | <- times, mismatches, bytes ----------------------- |
//
// Paced rounds give latencies: a frame is not begun before the one before is acknowledged, so that nothing queues up.
// Saturated rounds give frames per second: several frames are under way, and what is in the slots was stamped before.
package ipcbench

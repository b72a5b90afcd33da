// Package lsl streams samples to the readers of Lab Streaming Layer (LSL): recorders, viewers, analysis tools.
//
// An [Outlet] is the sending side of one stream. It speaks wire protocol 1.10 in plain Go, without liblsl:
//
//	reader                                  outlet
//	  │  LSL:shortinfo  (UDP 16571, groups)   │   discovery: name, type, ports; XPath 1.0 queries
//	  │ ────────────────────────────────────► │
//	  │ ◄──────────────────────────────────── │
//	  │  LSL:timedata   (UDP service port)    │   clock offset between the two hosts
//	  │ ◄───────────────────────────────────► │
//	  │  LSL:fullinfo   (TCP data port)       │   labels, units, description
//	  │ ◄───────────────────────────────────► │
//	  │  LSL:streamfeed (TCP data port)       │   header, two test patterns, then samples until one side closes
//	  │ ◄──────────────────────────────────── │
//
// # Time
//
// Stamps are seconds on CLOCK_MONOTONIC, the clock of every LSL program on Linux. Stamp the instant at which a sample
// was acquired, not the instant of the push: [Seconds] converts nanoseconds of that clock, [Now] reads it.
//
// # Flow
//
// A push never waits for a reader. Samples are encoded once and kept in one journal shared by all readers; a reader
// that falls too far behind loses its oldest samples, which [Outlet.Stats] counts. Without a reader samples are
// discarded: a new reader sees the stream from its subscription on, never its past.
//
// A hundred readers may follow one stream ([Options].MaxConnections), and one of them that reads nothing costs itself samples
// alone. Memory is bounded by [Options].BufferBytes for a stream and a batch of some 64 KiB for each reader.
//
// # Many outlets
//
// One process may have hundreds of outlets: each takes two sockets and two goroutines, each reader one and two. Outlets that are
// found on the same networks share the socket that hears queries. Readers that list this host as a known peer ask
// only the ports of [Options].BasePort and PortRange, 32 by default; the first outlet that has one of them answers for
// all outlets of the process that have none. Other programs' outlets take ports of the range as well.
//
// # Recovery
//
// A reader that loses its outlet looks for one with the same name, type, channel count, format and source id. Keep
// SourceID unique per stream and the same across restarts, and change it when the channels change.
//
// # Security
//
// LSL has no authentication and no encryption. [Options].LoopbackOnly keeps a stream on its host;
// [Options].Interfaces keeps it on chosen networks.
//
// # Limits
//
// IPv4 only, on Linux. Networks that come up after the outlet was opened are served, but multicast queries on them
// are not heard. Protocol 1.00 is refused: no current reader asks for it.
package lsl

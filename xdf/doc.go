// Package xdf writes recordings in XDF 1.0, the Extensible Data Format, in which LabRecorder keeps the streams of Lab Streaming
// Layer. pyxdf, EEGLAB, MNELAB and libxdf read them.
//
// A file is four bytes of magic and then chunks, each of which says how long it is:
//
//	"XDF:" │ chunk │ chunk │ chunk …
//
//	chunk:    │ length │ tag, 2 bytes │ stream id, 4 bytes (tags 2, 3, 4, 6) │ content │
//
//	tag 1  file header    XML: version and date                                    once, first
//	    2  stream header  XML: name, type, channel count, format, rate, labels     once a stream, before anything else of it
//	    3  samples        length n, then n times stamp and values
//	    4  clock offset   when, seconds │ offset, seconds
//	    5  boundary       16 bytes that are the same in every file                 about every 10 s
//	    6  stream footer  XML: first and last stamp, count, rate, clock offsets    once a stream, last
//
//	length:   │ 1 │ uint8 │  or  │ 4 │ uint32 │  or  │ 8 │ uint64 │; that of a chunk is of all behind it: tag, stream id, content
//	stamp:    │ 8 │ float64, seconds │  or  │ 0 │: one sample interval after the stamp before
//	value:    a number of the stream's format, or a length and the bytes of a text
//
// All numbers are little endian. The source of the format is its specification, version 1.0, at
// https://github.com/sccn/xdf/wiki/Specifications; where that leaves a choice, LabRecorder's files are followed.
//
// # What is in the file when
//
// Samples of a stream are gathered into a chunk until it has [Options].ChunkSamples of them or 256 KiB, and no longer than
// [Options].ChunkTime. Every chunk is handed to the system with one write, so that a process that is killed loses what was
// gathered in that time and nothing else: a file without footers is a valid recording. What a power failure takes is up to the system.
//
// A write that fails, on a full disk for instance, ends the recording: [Create] cuts its file back to the last whole chunk, and every
// later call returns that first error. A reader of a damaged file searches for the next boundary and goes on behind it; the
// first sample of each chunk has its full stamp, so that nothing that was lost is needed to tell the time.
//
// # Time
//
// Stamps are seconds on the clock of the stream's sender. [Stream.ClockOffset] records what has to be added to them to
// get the clock of the recording; readers interpolate between these measurements. Streams of one machine need none.
package xdf

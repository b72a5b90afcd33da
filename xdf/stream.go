package xdf

import (
	"fmt"
	"math"

	"facetrack/lsl"
)

// Stream is one stream of a recording.
type Stream struct {
	w        *Writer
	id       uint32
	info     lsl.StreamInfo
	interval float64 // seconds between samples; 0 when they come irregularly

	pending []byte // samples that wait to be written
	waiting int    // how many these are
	facts   facts
	closed  bool
}

func newStream(w *Writer, id uint32, info lsl.StreamInfo) *Stream {
	s := &Stream{w: w, id: id, info: info}
	if info.NominalRate > 0 {
		s.interval = 1 / info.NominalRate
	}
	return s
}

// ID is the number by which the chunks of the file name the stream, from 1 in the order of AddStream.
func (s *Stream) ID() uint32 { return s.id }

// String names the stream as errors do.
func (s *Stream) String() string { return fmt.Sprintf("stream %q (id %d)", s.info.Name, s.id) }

func (s *Stream) idBytes() []byte { return little.AppendUint32(nil, s.id) }

// usable says why nothing can be added to the stream any more.
func (s *Stream) usable() error {
	if s.w.out.err != nil {
		return s.w.out.err
	}
	if s.closed || s.w.closed {
		return fmt.Errorf("%w: %s", ErrClosed, s)
	}
	return nil
}

// ClockOffset records a measurement of the clocks and writes it at once: add offset (seconds) to a stamp of the stream to get the clock
// of the recording. at is the instant of the measurement in seconds on the stream's clock. It fails with ErrTimestamp, ErrClosed or ErrStopped.
func (s *Stream) ClockOffset(at, offset float64) error {
	if !finite(at) || !finite(offset) {
		return fmt.Errorf("%w: %s: clock offset %v at %v", ErrTimestamp, s, offset, at)
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	content := little.AppendUint64(nil, math.Float64bits(at))
	content = little.AppendUint64(content, math.Float64bits(offset))
	if err := s.w.out.chunk(s.String(), tagClockOffset, s.idBytes(), content); err != nil {
		return err
	}
	s.facts.offsets = append(s.facts.offsets, clockOffset{at, offset})
	return nil
}

// flush writes the samples that wait as one chunk.
func (s *Stream) flush() error {
	if s.waiting == 0 {
		return s.w.out.err
	}
	count := appendLength(nil, uint64(s.waiting))
	if err := s.w.out.chunk(s.String(), tagSamples, s.idBytes(), count, s.pending); err != nil {
		return err
	}
	s.w.out.samples += uint64(s.waiting)
	s.pending, s.waiting = s.pending[:0], 0
	return nil
}

// end writes what waits and the footer.
func (s *Stream) end() error {
	if s.closed {
		return s.w.out.err
	}
	s.closed = true
	if err := s.flush(); err != nil {
		return err
	}
	return s.w.out.chunk(s.String(), tagStreamFooter, s.idBytes(), s.facts.footer())
}

// Close ends the stream before its recording ends: it writes what waits and the footer. It fails with ErrStopped. Later calls do nothing.
func (s *Stream) Close() error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.end()
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

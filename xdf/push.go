package xdf

import (
	"encoding/binary"
	"fmt"
	"math"

	"facetrack/lsl"
)

// Deduced as a stamp says that a sample of a stream with a rate comes one sample interval after the one before.
const Deduced = -1

// Push records one sample of a Float32 stream. ts is its stamp in seconds on the stream's clock, or Deduced; values has one value
// per channel and is not kept. NaN values are legal. A push that fills a chunk waits until it is written.
//
// It fails with ErrTimestamp, ErrChannels, ErrFormat or ErrClosed, and then records nothing, or with ErrStopped.
func (s *Stream) Push(ts float64, values []float32) error {
	return push(s, lsl.Float32, ts, values, appendNumbers)
}

// PushDouble is Push for a Double stream.
func (s *Stream) PushDouble(ts float64, values []float64) error {
	return push(s, lsl.Double, ts, values, appendNumbers)
}

// PushInt64 is Push for an Int64 stream.
func (s *Stream) PushInt64(ts float64, values []int64) error {
	return push(s, lsl.Int64, ts, values, appendNumbers)
}

// PushInt32 is Push for an Int32 stream.
func (s *Stream) PushInt32(ts float64, values []int32) error {
	return push(s, lsl.Int32, ts, values, appendNumbers)
}

// PushInt16 is Push for an Int16 stream.
func (s *Stream) PushInt16(ts float64, values []int16) error {
	return push(s, lsl.Int16, ts, values, appendNumbers)
}

// PushInt8 is Push for an Int8 stream.
func (s *Stream) PushInt8(ts float64, values []int8) error {
	return push(s, lsl.Int8, ts, values, appendNumbers)
}

// PushString is Push for a String stream, e.g. of markers. The texts should be UTF-8 and are written as they are.
func (s *Stream) PushString(ts float64, values ...string) error {
	return push(s, lsl.String, ts, values, appendTexts)
}

func push[T any](s *Stream, format lsl.Format, ts float64, values []T, encode func([]byte, []T) []byte) error {
	if err := s.check(format, ts, len(values)); err != nil {
		return err
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	if err := s.stamp(ts); err != nil {
		return err
	}
	s.pending = encode(s.pending, values)
	s.waiting++
	if s.waiting >= s.w.opts.ChunkSamples || len(s.pending) >= chunkBytes {
		return s.flush()
	}
	return nil
}

func (s *Stream) check(format lsl.Format, ts float64, values int) error {
	switch {
	case format != s.info.Format:
		return fmt.Errorf("%w: %s pushed into %s, which is %s", ErrFormat, format, s, s.info.Format)
	case values != s.info.ChannelCount:
		return fmt.Errorf("%w: %d given, %s has %d channels", ErrChannels, values, s, s.info.ChannelCount)
	case ts == 0 || !finite(ts):
		return fmt.Errorf("%w: %s: %v: stamp the acquisition in seconds", ErrTimestamp, s, ts)
	}
	return nil
}

// stamp begins a sample.
func (s *Stream) stamp(ts float64) error {
	deduced := ts == Deduced
	if deduced {
		if ts = s.facts.last + s.interval; s.interval == 0 || s.facts.count == 0 || !finite(ts) {
			return fmt.Errorf("%w: %s: nothing to deduce it from: that takes a rate and a sample with a stamp", ErrTimestamp, s)
		}
	}
	s.facts.add(ts)
	if deduced && s.waiting > 0 {
		s.pending = append(s.pending, 0)
		return nil
	}
	s.pending = little.AppendUint64(append(s.pending, 8), math.Float64bits(ts))
	return nil
}

func appendNumbers[T any](b []byte, values []T) []byte {
	b, _ = binary.Append(b, little, values) // fails for types without a size, which are not pushed
	return b
}

func appendTexts(b []byte, values []string) []byte {
	for _, v := range values {
		b = append(appendLength(b, uint64(len(v))), v...)
	}
	return b
}

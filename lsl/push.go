package lsl

import (
	"fmt"
	"math"
)

// Push sends one sample of a Float32 stream to every reader. ts is the instant of acquisition in seconds on the LSL
// clock (see [Seconds]); values has one value per channel and is not kept. NaN values are legal. Push never waits for
// a reader and may be called from several goroutines.
//
// It fails with ErrTimestamp, ErrChannels, ErrFormat or ErrClosed, and then sends nothing.
func (o *Outlet) Push(ts float64, values []float32) error {
	return push(o, Float32, ts, values, appendFloat32)
}

// PushDouble is Push for a Double stream.
func (o *Outlet) PushDouble(ts float64, values []float64) error {
	return push(o, Double, ts, values, appendDouble)
}

// PushInt64 is Push for an Int64 stream.
func (o *Outlet) PushInt64(ts float64, values []int64) error {
	return push(o, Int64, ts, values, appendInt64)
}

// PushInt32 is Push for an Int32 stream.
func (o *Outlet) PushInt32(ts float64, values []int32) error {
	return push(o, Int32, ts, values, appendInt32)
}

// PushInt16 is Push for an Int16 stream.
func (o *Outlet) PushInt16(ts float64, values []int16) error {
	return push(o, Int16, ts, values, appendInt16)
}

// PushInt8 is Push for an Int8 stream.
func (o *Outlet) PushInt8(ts float64, values []int8) error {
	return push(o, Int8, ts, values, appendInt8)
}

// PushString is Push for a String stream, e.g. of markers. It can also fail with ErrTooLarge.
func (o *Outlet) PushString(ts float64, values ...string) error {
	return push(o, String, ts, values, appendString)
}

func push[T any](o *Outlet, format Format, ts float64, values []T, encode func([]byte, []T) []byte) error {
	if err := o.check(format, ts, len(values)); err != nil {
		return err
	}
	o.pushMu.Lock()
	defer o.pushMu.Unlock()
	o.scratch = encode(appendStamp(o.scratch[:0], ts), values)
	return o.journal.push(o.scratch)
}

func (o *Outlet) check(format Format, ts float64, values int) error {
	switch {
	case format != o.info.Format:
		return fmt.Errorf("%w: %s pushed into the %s stream %q", ErrFormat, format, o.info.Format, o.info.Name)
	case values != o.info.ChannelCount:
		return fmt.Errorf("%w: %d given, stream %q has %d channels", ErrChannels, values, o.info.Name, o.info.ChannelCount)
	case ts == 0 || ts == -1 || math.IsNaN(ts) || math.IsInf(ts, 0):
		return fmt.Errorf("%w: %v: stamp the acquisition with lsl.Seconds or lsl.Now", ErrTimestamp, ts)
	}
	return nil
}

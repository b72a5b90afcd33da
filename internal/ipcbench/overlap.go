package ipcbench

import (
	"context"
	"errors"
	"math"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
	"facetrack/internal/kernels"
)

// overlaps measures, for each format, what it brings that the upload of a frame overlaps the work on the one before.
func (b *bench) overlaps(ctx context.Context, feeds map[gpuring.Format][]*feed) error {
	for _, f := range b.o.Formats {
		for _, to := range feeds[f] {
			if to.Name != Auto {
				continue
			}
			b.say("%s: overlapped and one after the other", f)
			o, err := b.overlap(ctx, to)
			if err != nil {
				return err
			}
			b.result.Overlap = append(b.result.Overlap, o)
		}
	}
	return nil
}

func (b *bench) overlap(ctx context.Context, to *feed) (o Overlap, err error) {
	o.Format = string(to.shape.Format)
	s, err := newSequence(b.gpu, b.set, to.shape)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if o.UploadUS, o.KernelUS, o.Passes, err = s.balance(); err != nil {
		return o, err
	}
	o.Limit = ratio(o.UploadUS+o.KernelUS, max(o.UploadUS, o.KernelUS))
	ring := &ownRunner{b.producer, to, b.readers[:1]}
	several, single := b.plan.full(o.Passes), b.plan.full(o.Passes)
	single.window, single.lanes = 1, 1
	var apart, one []float64
	for range b.plan.saturated {
		for _, way := range []struct {
			spec  spec
			rates *[]float64
		}{{several, &o.Rounds}, {single, &apart}} {
			out, err := ring.run(ctx, way.spec)
			if err != nil {
				return o, err
			}
			*way.rates = append(*way.rates, math.Round(10*out.rate())/10)
			o.Mismatches += out.Mismatches
			o.Failed += out.Failed
			o.Frames += out.Frames
		}
		rate, err := s.run(b.plan.saturateIn, o.Passes)
		if err != nil {
			return o, err
		}
		one = append(one, rate)
	}
	o.Overlapped, o.RingOne, o.Stream = median(append([]float64{}, o.Rounds...)), median(apart), round2(median(one))
	o.VersusRing, o.VersusOne = ratio(o.Overlapped, o.RingOne), ratio(o.Overlapped, o.Stream)
	return o, nil
}

// sequence uploads and works on one stream of this process.
type sequence struct {
	*timer
	set            *kernels.Set
	from           *cuda.Pinned
	room           *cuda.Memory
	rowBytes, rows int
}

func newSequence(gpu *cuda.Context, set *kernels.Set, shape gpuring.Geometry) (_ *sequence, err error) {
	s := &sequence{set: set}
	s.rowBytes, s.rows = plane(shape)
	if s.timer, err = newTimer(gpu); err != nil {
		return nil, err
	}
	if s.from, err = gpu.AllocPinned(shape.FrameBytes()); err == nil {
		s.room, err = gpu.Alloc(counterRoom + int64(shape.FrameBytes()))
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	kernels.StampHost(s.from.Bytes(), s.rowBytes, s.rows, 1)
	return s, nil
}

func (s *sequence) upload() error {
	return s.stream.Upload(s.room.Address()+counterRoom, s.from.Bytes())
}

func (s *sequence) work(passes int) error {
	return s.set.Check(s.stream, s.room.Address()+counterRoom, s.rowBytes, s.rows, 1, s.room.Address(), passes, 0)
}

// balance finds how many passes over a frame take as long as its upload.
func (s *sequence) balance() (uploadUS, kernelUS float64, passes int, err error) {
	const repeats, few, many = 10, 1, 9
	if uploadUS, err = s.us(repeats, s.upload); err != nil {
		return 0, 0, 0, err
	}
	short, err := s.us(repeats, func() error { return s.work(few) })
	if err != nil {
		return 0, 0, 0, err
	}
	long, err := s.us(repeats, func() error { return s.work(many) })
	if err != nil {
		return 0, 0, 0, err
	}
	each := max((long-short)/(many-few), 0.05)
	passes = min(max(1+int(math.Round((uploadUS-short)/each)), 1), 10_000)
	kernelUS, err = s.us(repeats, func() error { return s.work(passes) })
	return round2(uploadUS), round2(kernelUS), passes, err
}

// run queues upload, kernel, upload, kernel … and returns frames per second.
func (s *sequence) run(limit time.Duration, passes int) (float64, error) {
	const ahead = 32 // so that the GPU does not wait for the host
	frames := 0
	begin := time.Now()
	for time.Since(begin) < limit {
		for range ahead {
			if err := errors.Join(s.upload(), s.work(passes)); err != nil {
				return 0, err
			}
			frames++
		}
		if err := s.stream.Synchronize(); err != nil {
			return 0, err
		}
	}
	return float64(frames) / time.Since(begin).Seconds(), nil
}

func (s *sequence) Close() error {
	err := errors.Join(s.stream.Synchronize(), s.timer.Close(), s.from.Close())
	if s.room != nil {
		err = errors.Join(err, s.room.Close())
	}
	return err
}

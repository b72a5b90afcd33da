package ipcbench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"facetrack/gpuring"
)

// bytes counts what one frame costs between CPU and GPU when it is read in place and when every reader uploads it.
func (b *bench) bytes(ctx context.Context, feeds []*feed) error {
	var compared []*feed
	for _, f := range feeds {
		if f.Name == Auto || f.Name == Shm {
			compared = append(compared, f)
		}
	}
	meter, why := newMeter(b.gpu.Device().ID())
	if meter != nil {
		defer meter.Close()
	}
	counts := slices.Clone(b.o.Readers)
	slices.Sort(counts)
	for _, n := range slices.Compact(counts) {
		if err := b.moreReaders(ctx, n, compared); err != nil {
			b.skip(fmt.Sprintf("bytes with %d readers", n), err)
			b.compute(n)
			continue
		}
		b.say("bytes with %d readers", n)
		for _, f := range compared {
			row, err := b.bytesOf(ctx, f, n, meter)
			if err != nil {
				return err
			}
			if why != nil {
				row.NVMLError = why.Error()
			}
			b.result.PCIe = append(b.result.PCIe, row)
		}
	}
	for _, n := range b.o.Computed {
		b.compute(n)
	}
	b.compareBytes()
	return nil
}

// moreReaders starts second processes until there are n, all at once, and lets them open what is compared.
func (b *bench) moreReaders(ctx context.Context, n int, feeds []*feed) error {
	var wait sync.WaitGroup
	started := make([]*child, max(n-len(b.readers), 0))
	failed := make([]error, len(started))
	for i := range started {
		wait.Go(func() {
			c, err := b.reader(ctx)
			for _, f := range feeds {
				if err == nil {
					_, err = f.attach(ctx, c)
				}
			}
			started[i], failed[i] = c, err
		})
	}
	wait.Wait()
	if err := errors.Join(failed...); err != nil {
		for _, c := range started {
			_ = c.Close()
		}
		return err
	}
	b.readers = append(b.readers, started...)
	return nil
}

func (b *bench) bytesOf(ctx context.Context, f *feed, n int, m *meter) (row PCIe, err error) {
	row = PCIe{Readers: n, Format: string(f.shape.Format), Transport: f.Name, Measured: true}
	s := b.plan.paced(b.o.Rate)
	s.frames, s.limit = b.plan.byteFrames, 5*time.Second
	var out outcome
	run := func() (err error) {
		out, err = (&ownRunner{b.producer, f, b.readers[:n]}).run(ctx, s)
		return err
	}
	if m == nil {
		err = run()
	} else if row.NVML, err = m.around(run); err != nil && row.NVML == nil && out.Frames > 0 {
		row.NVMLError, err = err.Error(), nil
	}
	if err != nil {
		return row, err
	}
	if out.Mismatches+out.Failed > 0 {
		return row, fmt.Errorf("%s, %d readers: %d frames were wrong, %d could not be read (%s)", f.name(), n, out.Mismatches, out.Failed, out.Failure)
	}
	frames := max(float64(out.Frames)/float64(n), 1)
	row.Up, row.Down = round2(float64(out.Up+out.UpHere)/frames), round2(float64(out.Down)/frames)
	if row.NVML != nil {
		row.NVML.Up, row.NVML.Down = round2(row.NVML.Up/frames), round2(row.NVML.Down/frames)
	}
	row.NVML = row.NVML.believed(row.Up)
	return row, nil
}

// believed is nil where counters say less than what was copied: they began again, and passed their old values before anybody looked.
func (s *Seen) believed(copied float64) *Seen {
	if s != nil && s.How == byCounters && s.Up < copied {
		return nil
	}
	return s
}

// compute makes the rows of a number of readers that were not started from those of one reader.
func (b *bench) compute(n int) {
	for _, one := range b.result.PCIe {
		if one.Readers != 1 {
			continue
		}
		row := PCIe{Readers: n, Format: one.Format, Transport: one.Transport, Up: one.Up, Down: float64(n) * one.Down}
		if one.Transport == Shm {
			row.Up *= float64(n)
		}
		b.result.PCIe = append(b.result.PCIe, row)
	}
}

// compareBytes says how many bytes fewer than with shm there are.
func (b *bench) compareBytes() {
	shm := map[int]float64{}
	for _, row := range b.result.PCIe {
		if row.Transport == Shm {
			shm[row.Readers] = row.Up + row.Down
		}
	}
	for i := range b.result.PCIe {
		row := &b.result.PCIe[i]
		if all := shm[row.Readers]; row.Transport == Auto && all > 0 {
			row.Less = ratio(all-row.Up-row.Down, all)
		}
	}
}

// judge compares the figures with what was promised for 1080p NV12.
func (b *bench) judge() {
	const format = string(gpuring.NV12)
	r := &b.result
	target := func(what, want string, value float64, met bool) {
		r.Targets = append(r.Targets, Target{what, want, value, met})
	}
	own := r.line(Auto, format)
	if own == nil || own.MayStart.Frames == 0 || b.o.Width != 1920 || b.o.Height != 1080 {
		return
	}
	target("frame in host memory to a kernel of another process may read it, p50, µs", "<= 150", own.MayStart.P50, own.MayStart.P50 <= 150)
	target("the same, p99, µs", "<= 300", own.MayStart.P99, own.MayStart.P99 <= 300)
	for _, name := range []string{TorchQueue, TorchPipe} {
		if torch := r.line(name, format); torch != nil && torch.MayStart.P50 > 0 {
			share := ratio(own.MayStart.P50, torch.MayStart.P50)
			target("the same, p50, against "+name, "<= 0.333", share, share <= 1.0/3)
		}
	}
	var pinned, plain float64
	for _, u := range r.Uploads {
		switch {
		case u.Format == format && u.Memory == memoryRegistered:
			pinned = u.Time.P50
		case u.Format == format && u.Memory == memoryPlain:
			plain = u.Time.P50
		}
	}
	gain := ratio(plain, pinned)
	target("upload, pageable against page-locked, time", ">= 1.5", gain, gain >= 1.5)
	for _, o := range r.Overlap {
		if o.Format == format {
			target("overlapped against one frame at a time, frames per second", ">= 1.3", o.VersusRing, o.VersusRing >= 1.3)
			target("overlapped against one stream without messages, frames per second", ">= 1.3", o.VersusOne, o.VersusOne >= 1.3)
		}
	}
	most := 0
	for _, row := range r.PCIe {
		most = max(most, row.Readers)
	}
	for _, row := range r.PCIe {
		if row.Transport == Auto && row.Readers == most {
			target(fmt.Sprintf("fewer bytes between CPU and GPU than shm, %d readers", row.Readers), ">= 0.9", row.Less, row.Less >= 0.9)
		}
	}
}

package ipcbench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"facetrack/gpuring"
)

// Run measures everything that can be measured on this machine, and says what could not.
func Run(ctx context.Context, o Options) (_ *Result, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	began := time.Now()
	p, err := newProducer(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	b := &bench{producer: p, result: Result{
		Commit: o.Commit, Date: began.UTC().Truncate(time.Second), Machine: o.Machine, GPU: p.describeGPU(), Parameters: p.parameters(), Looks: "GPU kernel",
	}}
	b.result.MPS, b.result.MPSReason = p.describeMPS()
	if p.gpu == nil {
		b.result.Looks = "CPU"
		b.skipGPU(errors.New(p.noGPU))
	}
	if err := b.all(ctx); err != nil {
		return nil, err
	}
	b.result.Seconds = round2(time.Since(began).Seconds())
	return &b.result, nil
}

func (p *producer) parameters() Parameters {
	return Parameters{
		Width: p.o.Width, Height: p.o.Height, Rate: p.o.Rate, Rounds: p.plan.rounds, ExtraEvery: p.plan.extraEvery, RoundFrames: p.plan.perRound,
		RoundLimitMS: round2(p.plan.roundLimit.Seconds() * 1e3), WarmUp: p.plan.warmUp, Saturated: p.plan.saturated,
		SaturatedMS: round2(p.plan.saturateIn.Seconds() * 1e3), Window: window, Lanes: lanes, Slots: slots, Quick: p.o.Quick, Awake: p.o.Awake,
	}
}

// bench is a run.
type bench struct {
	*producer
	result Result
	python *python
}

// What is measured beside the transports.
const (
	whatUploads = "uploads from page-locked and from other memory"
	whatOverlap = "overlap of uploads and kernels"
	whatBytes   = "bytes over PCIe"
)

// contestant is one transport with one format.
type contestant struct {
	runner
	line  Line
	extra bool
}

func (b *bench) skip(what string, why error) {
	b.result.NotRun = append(b.result.NotRun, NotRun{what, why.Error()})
}

// skipGPU names what needs a GPU.
func (b *bench) skipGPU(why error) {
	for _, t := range transports {
		if t.needsGPU() {
			b.skip(t.Name, why)
		}
	}
	for _, what := range []string{whatUploads, whatOverlap, whatBytes} {
		b.skip(what, why)
	}
}

func (b *bench) say(format string, a ...any) {
	_, _ = fmt.Fprintf(b.o.Progress, "bench ipc: "+format+"\n", a...)
}

func (b *bench) all(ctx context.Context) error {
	if b.gpu != nil {
		python, err := startPython(b.o, b.gpu.Device().ID())
		if err != nil {
			b.skip("PyTorch", err)
		}
		b.python = python
		if python != nil {
			defer func() { _ = python.Close() }()
		}
	}
	first, err := b.reader(ctx)
	if err != nil {
		return err
	}
	b.readers = append(b.readers, first)
	b.awaitPython(ctx)
	if b.gpu != nil {
		b.say("%s", whatUploads)
		if err := b.uploads(ctx); err != nil {
			b.skip(whatUploads, err)
		}
	}
	feeds := map[gpuring.Format][]*feed{}
	for _, f := range b.o.Formats {
		all, noRing, err := b.feeds(f)
		if err != nil {
			return err
		}
		if noRing != nil {
			b.skip("cuda-ipc "+string(f), noRing)
		}
		if feeds[f], err = b.compare(ctx, f, all); err != nil {
			return err
		}
	}
	if b.gpu == nil {
		return nil
	}
	if b.python != nil {
		_ = b.python.Close()
	}
	if err := b.overlaps(ctx, feeds); err != nil {
		return fmt.Errorf("overlap: %w", err)
	}
	if err := b.bytes(ctx, feeds[b.o.Formats[0]]); err != nil {
		return fmt.Errorf("bytes: %w", err)
	}
	b.judge()
	return nil
}

func (b *bench) awaitPython(ctx context.Context) {
	if b.python == nil {
		return
	}
	if err := b.python.ready(ctx); err != nil {
		b.skip("PyTorch", err)
		_ = b.python.Close()
		b.python = nil
		return
	}
	b.result.Torch = fmt.Sprintf("PyTorch %s, CUDA %s", b.python.Torch, b.python.CUDA)
}

// compare runs all transports with one format in rotation. It returns those that the second process could open.
func (b *bench) compare(ctx context.Context, f gpuring.Format, feeds []*feed) ([]*feed, error) {
	all, usable := b.contestants(ctx, f, feeds)
	var err error
	b.say("%s: %d transports, %d rounds of up to %d frames", f, len(all), b.plan.rounds, b.plan.perRound)
	if all, err = b.rounds(ctx, all, b.plan.rounds, b.plan.paced(b.o.Rate), (*Line).add); err != nil {
		return nil, err
	}
	all, err = b.rounds(ctx, all, b.plan.saturated, b.plan.full(1), func(l *Line, o outcome) {
		l.note(o)
		l.SatRounds = append(l.SatRounds, math.Round(10*o.rate())/10)
	})
	for _, c := range all {
		c.line.sum()
		b.result.Transports = append(b.result.Transports, c.line)
	}
	return usable, err
}

func (b *bench) contestants(ctx context.Context, f gpuring.Format, feeds []*feed) (all []*contestant, usable []*feed) {
	shape := b.o.geometry(f)
	for _, to := range feeds {
		a, err := to.attach(ctx, b.readers[0])
		if err != nil {
			b.skip(to.name(), err)
			continue
		}
		usable = append(usable, to)
		line := Line{Transport: to.Name, Format: string(f), FrameBytes: shape.FrameBytes(), How: to.How, Note: a.Note, Sync: a.Sync, AttachMS: a.AttachMS}
		all = append(all, &contestant{&ownRunner{b.producer, to, b.readers[:1]}, line, to.Extra})
	}
	for _, t := range transports {
		if t.Kind == kindPython && b.python != nil {
			line := Line{Transport: t.Name, Format: string(f), FrameBytes: shape.FrameBytes(), How: t.How, Note: b.result.Torch}
			all = append(all, &contestant{&pythonRunner{b.python, t.Name, shape}, line, t.Extra})
		}
	}
	return all, usable
}

// rounds lets every contestant run so many rounds, in an order that moves on by one each time. A Python that fails is
// left out from then on; a failure of our own ends the run.
func (b *bench) rounds(ctx context.Context, all []*contestant, n int, s spec, take func(*Line, outcome)) ([]*contestant, error) {
	for r := range n {
		for i := range all {
			c := all[(i+r)%len(all)]
			if c.runner == nil || c.extra && s.every > 0 && r%s.every != 0 {
				continue
			}
			out, err := c.run(ctx, s)
			if _, foreign := c.runner.(*pythonRunner); err != nil && foreign && ctx.Err() == nil {
				b.skip(c.line.Transport+" "+c.line.Format, err)
				c.runner = nil
				continue
			}
			if err != nil {
				return nil, err
			}
			take(&c.line, out)
		}
	}
	kept := all[:0]
	for _, c := range all {
		if c.runner != nil {
			kept = append(kept, c)
		}
	}
	return kept, nil
}

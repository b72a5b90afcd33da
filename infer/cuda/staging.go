package gpu

import (
	"errors"
	"fmt"

	"facetrack/infer"
	"facetrack/internal/cuda"
	"facetrack/internal/kernels/nn"
)

// staging is page-locked memory between the caller's buffers and the device, one piece for each input and output.
type staging struct{ in, out []*cuda.Pinned }

// prepare makes the staging memory when it is needed first.
func (e *Exec) prepare() error {
	if e.staging != nil {
		return nil
	}
	s := &staging{}
	for i, info := range e.net.inputs {
		if err := s.add(e.net.ctx, &s.in, e.maxBatch*info.Len()*e.net.InputPrecision(i).Bytes()); err != nil {
			return errors.Join(err, s.close())
		}
	}
	for _, info := range e.net.outputs {
		if err := s.add(e.net.ctx, &s.out, e.maxBatch*info.Len()*nn.F32.Bytes()); err != nil {
			return errors.Join(err, s.close())
		}
	}
	e.staging = s
	return nil
}

func (s *staging) add(ctx *cuda.Context, list *[]*cuda.Pinned, bytes int) error {
	p, err := ctx.AllocPinned(bytes)
	if err != nil {
		return fmt.Errorf("%d bytes of page-locked memory: %w", bytes, err)
	}
	*list = append(*list, p)
	return nil
}

func (s *staging) close() error {
	if s == nil {
		return nil
	}
	var all []error
	for _, p := range append(s.in, s.out...) {
		all = append(all, p.Close())
	}
	return errors.Join(all...)
}

// Run computes batch items, at most MaxBatch, and waits for the results. Every buffer is host memory of batch × Info.Len()
// elements, or float32 at a device address.
func (e *Exec) Run(batch int, in, out []infer.Buffer) error {
	if err := e.check(batch); err != nil {
		return err
	}
	if err := checkBuffers(batch, e.net.inputs, in); err != nil {
		return fmt.Errorf("inputs: %w", err)
	}
	if err := checkBuffers(batch, e.net.outputs, out); err != nil {
		return fmt.Errorf("outputs: %w", err)
	}
	if err := e.prepare(); err != nil {
		return err
	}
	return e.compute(batch, in, out)
}

func (e *Exec) compute(batch int, in, out []infer.Buffer) error {
	for i, b := range in {
		if err := e.take(i, batch*e.net.inputs[i].Len(), b); err != nil {
			return errors.Join(err, e.stream.Synchronize())
		}
	}
	err := e.Enqueue(e.stream, batch)
	for i, b := range out {
		if err == nil {
			err = e.give(i, batch*e.net.outputs[i].Len(), b)
		}
	}
	// Whatever failed: the staging memory is free for the next run only when nothing copies any more.
	if err := errors.Join(err, e.stream.Synchronize()); err != nil {
		return err
	}
	for i, b := range out {
		decode(b.Host, e.staging.out[i].Bytes(), nn.F32)
	}
	return nil
}

// take brings an input to the device.
func (e *Exec) take(i, elements int, b infer.Buffer) error {
	p := e.net.InputPrecision(i)
	if b.Device == 0 {
		pinned := e.staging.in[i].Bytes()
		return e.stream.Upload(e.Input(i), encode(pinned[:0], b.Host, p))
	}
	if p == nn.F32 {
		return e.stream.Copy(e.Input(i), b.Device, int64(elements*p.Bytes()))
	}
	return convert(e.net.set, e.stream, b.Device, e.Input(i), elements)
}

// give starts the way of an output to the caller.
func (e *Exec) give(i, elements int, b infer.Buffer) error {
	bytes := elements * nn.F32.Bytes()
	if b.Device != 0 {
		return e.stream.Copy(b.Device, e.Output(i), int64(bytes))
	}
	return e.stream.Download(e.staging.out[i].Bytes()[:bytes], e.Output(i))
}

func checkBuffers(batch int, infos []infer.Info, buffers []infer.Buffer) error {
	if len(buffers) != len(infos) {
		return fmt.Errorf("%w: %d buffers for %d tensors", infer.ErrBadInput, len(buffers), len(infos))
	}
	for i, b := range buffers {
		if b.Device != 0 && b.Host == nil {
			continue
		}
		if err := infer.CheckHost(batch, batch, infos[i:i+1], buffers[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

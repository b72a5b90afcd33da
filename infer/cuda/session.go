package gpu

import (
	"errors"
	"fmt"

	"facetrack/infer"
)

// session is a network of its own with one Exec, for package infer.
type session struct {
	device   *Device
	net      *Network
	exec     *Exec
	maxBatch int
	closed   bool
}

func openSession(g *infer.Graph, o infer.Options) (*session, error) {
	s := &session{maxBatch: max(o.MaxBatch, 1)}
	err := s.open(g, o)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *session) open(g *infer.Graph, o infer.Options) (err error) {
	if s.device, err = OpenDevice(o.GPU); err != nil {
		return err
	}
	options := Options{Precision: o.Precision, Graphs: true, Raw: o.NoOptimize, Log: o.Log}
	if s.net, err = NewNetwork(s.device.Context(), s.device.Kernels(), g, options); err != nil {
		return err
	}
	if s.exec, err = s.net.NewExec(s.maxBatch); err != nil {
		return err
	}
	if err := s.exec.prepare(); err != nil {
		return err
	}
	return s.exec.try()
}

func (s *session) Backend() string       { return Name }
func (s *session) Inputs() []infer.Info  { return s.net.Inputs() }
func (s *session) Outputs() []infer.Info { return s.net.Outputs() }

// Run splits a batch that the device has not enough memory for.
func (s *session) Run(batch int, in, out []infer.Buffer) error {
	if s.closed {
		return infer.ErrClosed
	}
	if batch < 1 || batch > s.maxBatch {
		return fmt.Errorf("%w: batch of %d; this session takes 1 to %d", infer.ErrBadInput, batch, s.maxBatch)
	}
	if err := errors.Join(checkBuffers(batch, s.Inputs(), in), checkBuffers(batch, s.Outputs(), out)); err != nil {
		return err
	}
	for first := 0; first < batch; first += s.exec.MaxBatch() {
		n := min(batch-first, s.exec.MaxBatch())
		if err := s.exec.Run(n, items(in, s.Inputs(), first, n), items(out, s.Outputs(), first, n)); err != nil {
			return err
		}
	}
	return nil
}

// items is a part of a batch.
func items(buffers []infer.Buffer, infos []infer.Info, first, n int) []infer.Buffer {
	part := make([]infer.Buffer, len(buffers))
	for i, b := range buffers {
		size := infos[i].Len()
		if b.Device != 0 {
			part[i].Device = b.Device + uint64(4*first*size)
		} else {
			part[i].Host = b.Host[first*size : (first+n)*size]
		}
	}
	return part
}

// Close frees everything. It may be called again.
func (s *session) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	var all []error
	if s.exec != nil {
		all = append(all, s.exec.Close())
	}
	if s.net != nil {
		all = append(all, s.net.Close())
	}
	if s.device != nil {
		all = append(all, s.device.Close())
	}
	return errors.Join(all...)
}

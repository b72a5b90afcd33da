//go:build cuda

package gpu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
)

// reader is one ring as a checking child reads it: a stream of its own, and a counter for each frame under way.
type reader struct {
	*puppet
	o       order
	d       gpuring.Descriptor
	r       gpuring.Reader
	stream  *cuda.Stream
	memory  *cuda.Memory    // counters
	counted *cuda.Pinned    // their copy
	batch   []gpuring.Lease // of frames whose checks are queued
	closed  bool            // the writer has ended
	last    *gpuring.Ticket
}

const counterBytes = 4

func (p *puppet) newReader(o order, d gpuring.Descriptor) (*reader, error) {
	r := &reader{puppet: p, o: o, d: d}
	var errs [4]error
	r.stream, errs[0] = p.gpu.NewStream()
	r.memory, errs[1] = p.gpu.Alloc(counterBytes * gpuring.MaxSlots)
	r.counted, errs[2] = p.gpu.AllocPinned(counterBytes * gpuring.MaxSlots)
	r.r, errs[3] = r.open()
	return r, errors.Join(errs[:]...)
}

func (r *reader) open() (gpuring.Reader, error) {
	return gpuring.OpenDevice(r.d, fmt.Sprint("reader ", os.Getpid()), gpuring.DeviceOptions{GPU: r.gpu, Sync: r.o.Sync, Stuck: func(err error) {
		r.say(answer{Stuck: err.Error()})
		os.Exit(0)
	}})
}

func (r *reader) close() error {
	return errors.Join(r.r.Close(), r.stream.Close(), r.memory.Close(), r.counted.Close())
}

// queue leases a frame and queues its check; it notes what became of a frame that cannot be leased.
func (r *reader) queue(t gpuring.Ticket, sums *tally) error {
	lease, err := r.r.Lease(t)
	switch {
	case errors.Is(err, gpuring.ErrStale):
		sums.Stale++
		return nil
	case errors.Is(err, gpuring.ErrRevoked):
		sums.Revoked++
		return r.reopen(sums)
	case errors.Is(err, gpuring.ErrClosed):
		r.closed = true
		return nil
	case err != nil:
		return err
	}
	v := lease.View()
	rowBytes, rows := plane(r.d.Geometry)
	counter := r.memory.Address() + uint64(counterBytes*len(r.batch))
	r.batch = append(r.batch, lease)
	return errors.Join(v.Fence.Wait(r.stream), r.stream.Fill(counter, 0, counterBytes),
		r.set.Check(r.stream, v.Device, rowBytes, rows, t.Seq, counter, r.o.Passes, r.o.PauseNS))
}

// fetch queues the download of the counters.
func (r *reader) fetch() error {
	if len(r.batch) == 0 {
		return nil
	}
	return r.stream.Download(r.counted.Bytes()[:counterBytes*len(r.batch)], r.memory.Address())
}

// settle waits for the queued checks and gives the leases back: a frame counts when its lease held all the time.
func (r *reader) settle(sums *tally) error {
	if len(r.batch) == 0 {
		return nil
	}
	err := r.stream.Synchronize()
	for i, lease := range r.batch {
		wrong := binary.LittleEndian.Uint32(r.counted.Bytes()[counterBytes*i:])
		switch released := lease.Release(); {
		case err != nil:
		case released == nil:
			sums.Checked++
			if wrong > 0 {
				sums.Torn++
			}
		case errors.Is(released, gpuring.ErrTorn):
			sums.Refused++
		case errors.Is(released, gpuring.ErrRevoked):
			sums.Revoked++
		case errors.Is(released, gpuring.ErrClosed):
			sums.Closed++
		default:
			err = released
		}
	}
	r.batch = r.batch[:0]
	return err
}

// reopen attaches anew after the writer had declared this reader dead.
func (r *reader) reopen(sums *tally) error {
	if err := r.settle(sums); err != nil {
		return err
	}
	if err := r.r.Close(); err != nil {
		return err
	}
	for {
		next, err := r.open()
		switch {
		case err == nil:
			r.r = next
			sums.Reopened++
			return nil
		case errors.Is(err, gpuring.ErrReadersFull):
			time.Sleep(time.Millisecond)
		case errors.Is(err, gpuring.ErrClosed), errors.Is(err, gpuring.ErrNotShared):
			r.closed = true
			return nil
		default:
			return err
		}
	}
}

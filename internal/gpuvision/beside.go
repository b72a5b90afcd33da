package gpuvision

import (
	"errors"

	"facetrack/internal/cuda"
)

// beside has work of a captured graph run at the same time as other work of it.
type beside struct {
	stream     *cuda.Stream
	fork, join *cuda.Event
}

func newBeside(ctx *cuda.Context) (b *beside, err error) {
	b = &beside{}
	if b.stream, err = ctx.NewStream(); err == nil {
		if b.fork, err = ctx.NewEvent(cuda.EventOptions{}); err == nil {
			b.join, err = ctx.NewEvent(cuda.EventOptions{})
		}
	}
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// both queues two pieces of work that are independent of each other. Only one goroutine at a time may do so, with a stream that captures.
func (b *beside) both(stream *cuda.Stream, one, other func(*cuda.Stream) error) error {
	if err := stream.Record(b.fork); err != nil {
		return err
	}
	if err := b.stream.Wait(b.fork); err != nil {
		return err
	}
	err := errors.Join(one(stream), other(b.stream))
	// Also after a failure: a stream that nobody waits for would stay in the capture.
	return errors.Join(err, b.stream.Record(b.join), stream.Wait(b.join))
}

func (b *beside) close() error {
	if b == nil {
		return nil
	}
	return errors.Join(b.stream.Close(), b.fork.Close(), b.join.Close())
}

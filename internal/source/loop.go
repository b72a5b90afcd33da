package source

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// OpenFunc opens one and the same source again.
type OpenFunc func(ctx context.Context) (Source, error)

// Loop plays a source without end: after the last frame it opens it anew.
type Loop struct {
	open   OpenFunc
	src    Source
	info   Info
	pass   int64 // frames grabbed in this pass
	length int64 // frames of a whole pass, 0 until one is complete
	closed bool
}

// NewLoop opens the source for the first pass. Live sources cannot be looped: ErrUnsupported.
func NewLoop(ctx context.Context, open OpenFunc) (*Loop, error) {
	src, err := open(ctx)
	if err != nil {
		return nil, err
	}
	info := src.Info()
	if info.Live {
		return nil, errors.Join(fmt.Errorf("%w: %s is live and cannot be looped", ErrUnsupported, info.Name), src.Close())
	}
	info.Frames = -1
	return &Loop{open: open, src: src, info: info}, nil
}

// Info is the source's, without an end.
func (l *Loop) Info() Info { return l.info }

// Grab advances to the next frame, which after the last is the first.
func (l *Loop) Grab(ctx context.Context) (int64, error) {
	if l.closed {
		return 0, ErrClosed
	}
	at, err := l.src.Grab(ctx)
	if errors.Is(err, io.EOF) {
		if err := l.restart(ctx); err != nil {
			return 0, err
		}
		at, err = l.src.Grab(ctx)
	}
	if err != nil {
		return 0, err
	}
	l.pass++
	return at, nil
}

// restart opens the next pass. A pass without frames, or one of another size, ends the loop.
func (l *Loop) restart(ctx context.Context) error {
	if l.pass == 0 {
		return fmt.Errorf("%w: %s has no frames to loop over", ErrCorrupt, l.info.Name)
	}
	src, err := l.open(ctx)
	if err != nil {
		return err
	}
	if now := src.Info(); !now.SameGeometry(l.info) {
		err := fmt.Errorf("%w: %s was %s and is now %s", ErrCorrupt, l.info.Name, l.info.geometry(), now.geometry())
		return errors.Join(err, src.Close())
	}
	err = l.src.Close()
	l.src, l.length, l.pass = src, l.pass, 0
	return err
}

// Retrieve writes the grabbed frame into dst.
func (l *Loop) Retrieve(dst []byte) error { return l.src.Retrieve(dst) }

// Skip moves on by n frames. Whole passes cost nothing once the length of one is known.
func (l *Loop) Skip(n int64) error {
	if l.closed {
		return ErrClosed
	}
	for n > 0 {
		if l.length > 0 && n >= l.length {
			n %= l.length
			continue
		}
		err := l.src.Skip(1) // by ones: at the end of a pass it has to be known how many there were
		switch {
		case err == nil:
			l.pass++
			n--
		case errors.Is(err, io.EOF):
			err = l.restart(context.Background())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Close gives the source back.
func (l *Loop) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	return l.src.Close()
}

package gpuring

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"facetrack/gpuring/internal/shm"
	"facetrack/internal/clock"
)

// predecessor is the control block of a writer that died. As long as its owner lock is held, nobody else may
// replace or remove the name.
type predecessor struct {
	f    *os.File
	m    *shm.Map // the header; nil when the file is no ring of this version
	path string
}

// findPredecessor returns nil when there is no control block, ErrInUse when its writer lives.
func findPredecessor(o Options, deaf bool) (*predecessor, error) {
	const tries, pause = 20, 10 * time.Millisecond // a cleaner or another successor holds the lock for a moment
	path := o.path(controlSuffix)
	for n := 0; ; n++ {
		f, size, err := shm.Open(path, o.gid)
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, nameTaken(err)
		}
		locked, err := shm.TryLock(f, shm.OwnerByte)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if locked && !deaf && shm.IsAt(f, path) {
			return readPredecessor(f, path, size), nil
		}
		if !locked && n >= tries || deaf {
			return nil, errors.Join(inUse(f, size, o), f.Close())
		}
		_ = f.Close() // replaced or removed meanwhile, or still locked: look again
		time.Sleep(pause)
	}
}

// nameTaken explains a control block that cannot be opened.
func nameTaken(err error) error {
	if errors.Is(err, shm.ErrForeign) || errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%w: the file's name is taken, perhaps by another user: remove it, or choose another rig or camera name: %w", ErrInUse, err)
	}
	return err
}

func readPredecessor(f *os.File, path string, size int64) *predecessor {
	p := &predecessor{f: f, path: path}
	if size < 8*headerWords {
		return p
	}
	m, err := shm.MapFile(f, 8*headerWords, true)
	if err != nil {
		return p
	}
	if _, err := getIdentity(m); err != nil {
		_ = m.Close() // another version's file: there is nothing to take over from it
		return p
	}
	p.m = m
	return p
}

// inUse names the process that has the camera.
func inUse(f *os.File, size int64, o Options) error {
	p := readPredecessor(f, f.Name(), size)
	if p.m == nil {
		return fmt.Errorf("%w: %s is locked by a running process: stop it first, or choose another camera name", ErrInUse, f.Name())
	}
	defer func() { _ = p.m.Close() }()
	id, _ := getIdentity(p.m)
	age := clock.Since(int64(p.m.Word(hWriterBeat).Load()))
	err := fmt.Errorf("%w: camera %q of rig %q is written by process %d (heartbeat %v ago): stop it first, or choose another camera name",
		ErrInUse, id.camera, id.rig, p.m.Word(hWriterPID).Load(), age.Round(time.Millisecond))
	if id.camera != o.Camera || id.rig != o.Rig {
		err = fmt.Errorf("%w; its files have the name that camera %q of rig %q needs", err, o.Camera, o.Rig)
	}
	return err
}

// bequeath closes the dead ring and copies to c what outlives it.
func (p *predecessor) bequeath(c *control) {
	p.m.Word(hState).Store(ringClosed)
	for _, word := range []int{hNextSeq, hPublishedNext, hPosition} {
		c.word(word).Store(p.m.Word(word).Load())
	}
}

func (p *predecessor) tell(c *control, log *slog.Logger) {
	log.Info("ring of a dead writer taken over", "pid", p.m.Word(hWriterPID).Load(),
		"next_seq", c.word(hNextSeq).Load(), "position", c.word(hPosition).Load())
}

// of reports whether the block belonged to this camera, and its ring generation.
func (p *predecessor) of(o Options) (generation uint64, same bool) {
	if p == nil || p.m == nil {
		return 0, false
	}
	id, err := getIdentity(p.m)
	return id.generation, err == nil && id.rig == o.Rig && id.camera == o.Camera
}

func (p *predecessor) Close() error {
	if p == nil {
		return nil
	}
	var err error
	if p.m != nil {
		err = p.m.Close()
	}
	return errors.Join(err, p.f.Close())
}

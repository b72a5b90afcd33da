package capture

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"facetrack/internal/config"
	"facetrack/internal/stage"
)

// errRemoved is why a camera that was taken out of the configuration ends.
var errRemoved = errors.New("removed from the configuration")

// fleet is the cameras of this process. They come and go one by one, without the others' noticing.
type fleet struct {
	env  *stage.Env
	gpus *gpus
	ctx  context.Context //nolint:containedctx // the cameras': done when one of them fails, too
	fail context.CancelFunc

	mu      sync.Mutex
	members map[string]*member
	leaving map[string]*member // that were removed
	next    map[string]uint64  // where the numbers of those go on: the bucket may not have it, on a full disk
	closing sync.WaitGroup     // of those
	running int
	err     error
	over    bool
	done    chan struct{} // closed when nobody runs any more
}

// member is a camera of the fleet.
type member struct {
	*camera
	leave  context.CancelCauseFunc
	ended  chan struct{} // its last frame is through
	closed chan struct{} // and it is closed, after it was removed
}

func newFleet(ctx context.Context, env *stage.Env) *fleet {
	f := &fleet{env: env, gpus: newGPUs(env.Config, env.Log), members: map[string]*member{}, leaving: map[string]*member{}, next: map[string]uint64{}, done: make(chan struct{})}
	f.ctx, f.fail = context.WithCancel(ctx)
	return f
}

// open opens cameras. After an error none of them is open.
func (f *fleet) open(cameras []config.Camera) (opened []*member, err error) {
	for _, cfg := range cameras {
		c, err := openCamera(f.ctx, f.env, f.gpus, cfg, f.goesOn(cfg.Name))
		opened = append(opened, &member{camera: c, ended: make(chan struct{}), closed: make(chan struct{})})
		if err != nil {
			closeAll(opened)
			return nil, fmt.Errorf("camera %s: %w", cfg.Name, err)
		}
	}
	return opened, nil
}

// goesOn is where the numbers of a camera go on that was removed, 0 if it was not.
func (f *fleet) goesOn(camera string) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next[camera]
}

// closeAll closes cameras side by side: each ring waits until the other processes have let go of its device memory.
func closeAll(members []*member) {
	var closing sync.WaitGroup
	for _, m := range members {
		closing.Go(func() { _ = m.Close() })
	}
	closing.Wait()
}

// start has cameras run. An error means that the fleet has ended; they are closed then.
func (f *fleet) start(cameras []*member) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		closeAll(cameras)
		return errors.New("capture has ended")
	}
	for _, m := range cameras {
		ctx, leave := context.WithCancelCause(f.ctx)
		m.leave = leave
		f.members[m.cfg.Name] = m
		f.running++
		go func() {
			defer leave(nil)
			f.ended(m, m.run(ctx))
		}()
	}
	return nil
}

func (f *fleet) ended(m *member, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(m.ended)
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("camera %s: %w", m.cfg.Name, err)
		f.fail()
	}
	if f.running--; f.running == 0 {
		f.over = true
		close(f.done)
	}
}

// wait returns when every camera has ended, with the error of the one that failed first.
func (f *fleet) wait() error {
	<-f.done
	return f.err
}

// flight is that of a camera, nil when there is none of that name.
func (f *fleet) flight(camera string) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.members[camera]; m != nil {
		return m.flight
	}
	return nil
}

// apply takes a changed list of cameras over: first those that come are opened, so that nothing has changed if one cannot be.
func (f *fleet) apply(from, to config.Config) error {
	added, removed := config.CameraChanges(from, to)
	for _, cfg := range added {
		f.awaitEnd(cfg.Name)
	}
	opened, err := f.open(added)
	if err != nil {
		return err
	}
	if err := f.start(opened); err != nil {
		return err
	}
	for _, cfg := range removed {
		f.remove(cfg.Name)
	}
	return nil
}

// awaitEnd waits until a camera that had the name and was removed is closed.
func (f *fleet) awaitEnd(name string) {
	f.mu.Lock()
	m := f.leaving[name]
	f.mu.Unlock()
	if m == nil {
		return
	}
	select {
	case <-m.closed:
	case <-f.ctx.Done():
	}
}

// remove ends a camera and returns when its last frame is through. It is closed beside the others.
func (f *fleet) remove(name string) {
	f.mu.Lock()
	m := f.members[name]
	f.mu.Unlock()
	if m == nil {
		return
	}
	m.leave(errRemoved)
	<-m.ended
	f.mu.Lock()
	delete(f.members, name)
	f.leaving[name] = m
	f.mu.Unlock()
	f.closing.Go(func() {
		_ = m.Close()
		f.mu.Lock()
		f.next[name] = m.nextSeq
		f.mu.Unlock()
		close(m.closed)
	})
}

// close ends all cameras, waits until the last frame of each is through, and closes those that are open.
func (f *fleet) close() {
	f.fail()
	f.mu.Lock()
	f.over = true
	var open []*member
	for _, m := range f.members {
		open = append(open, m)
	}
	f.mu.Unlock()
	for _, m := range open {
		<-m.ended
	}
	closeAll(open)
	f.closing.Wait()
}

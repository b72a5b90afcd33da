package ipc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"facetrack/gpuring"
)

const (
	fetchWindow  = 2 // frames asked for at a time: their chunks wait in the NATS server
	livingPeriod = DefaultMaxSilence / 4
)

// copyRung fetches each frame over NATS.
type copyRung struct{}

func (copyRung) transport() Transport { return Copy }

func (copyRung) attach(ctx context.Context, l *Link, reply *AttachReply) (channel, error) {
	if err := reply.offered(Copy); err != nil {
		return nil, err
	}
	f := &fetcher{
		link: l, session: nuid.Next(), inbox: l.nc.NewRespInbox(), window: make(chan struct{}, fetchWindow),
		waiting: map[string]*transfer{}, stopped: make(chan struct{}),
	}
	f.buffers.New = func() any { return ptrTo(make([]byte, reply.Ring.Geometry.FrameBytes())) }
	admitted, err := l.request(ctx, opCopy, f.session)
	if err != nil {
		return nil, err
	}
	if admitted.Ring.Nonce != reply.Ring.Nonce {
		return nil, fmt.Errorf("%w: the ring changed while attaching", gpuring.ErrClosed)
	}
	if f.sub, err = l.nc.Subscribe(f.inbox+".*", f.onMessage); err != nil {
		return nil, err
	}
	if err := f.sub.SetPendingLimits(-1, -1); err != nil { // the window bounds what can be pending
		return nil, errors.Join(err, f.sub.Unsubscribe())
	}
	living, stop := context.WithCancel(context.Background())
	f.stop = stop
	go f.ping(living)
	return f, nil
}

func ptrTo[T any](v T) *T { return &v }

// fetcher asks capture for copies of frames.
type fetcher struct {
	link    *Link
	session string
	inbox   string
	sub     *nats.Subscription
	window  chan struct{}
	buffers sync.Pool // *[]byte of one frame

	mu      sync.Mutex
	waiting map[string]*transfer // by the last token of the inbox

	stop      context.CancelFunc
	stopped   chan struct{}
	closeOnce sync.Once
	closeErr  error
}

func (f *fetcher) reaches() reach { return reach{transport: Copy} }

func (f *fetcher) lease(ctx context.Context, t gpuring.Ticket) (Lease, error) {
	ctx, cancel := f.link.within(ctx)
	defer cancel()
	select {
	case f.window <- struct{}{}:
		defer func() { <-f.window }()
	case <-ctx.Done():
		return nil, fmt.Errorf("ipc: fetch pixels: %w", ctx.Err())
	}
	buf, _ := f.buffers.Get().(*[]byte)
	if err := f.fetch(ctx, t, *buf); err != nil {
		f.buffers.Put(buf)
		return nil, err
	}
	return &copied{fetcher: f, buf: buf}, nil
}

// fetch fills buf, which nobody writes any more once it returns.
func (f *fetcher) fetch(ctx context.Context, ticket gpuring.Ticket, buf []byte) error {
	t, token := newTransfer(ticket, buf), nuid.Next()
	defer t.abandon()
	f.await(token, t)
	defer f.ended(token)
	data, err := json.Marshal(PixelRequest{Session: f.session, Ticket: ticket})
	if err != nil {
		return err
	}
	subject := Subject(f.link.rig, f.link.camera, KindPixels)
	if err := f.link.nc.PublishRequest(subject, f.inbox+"."+token, data); err != nil {
		return fmt.Errorf("ipc: fetch pixels: %w", err)
	}
	select {
	case err := <-t.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("ipc: fetch pixels of %s: %w", f.link.camera, ctx.Err())
	}
}

func (f *fetcher) await(token string, t *transfer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting[token] = t
}

func (f *fetcher) ended(token string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.waiting, token)
}

func (f *fetcher) onMessage(m *nats.Msg) {
	token := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	f.mu.Lock()
	t := f.waiting[token]
	f.mu.Unlock()
	if t != nil && t.receive(m) {
		f.ended(token)
	}
}

// ping keeps the session alive. When capture has forgotten it, the next fetch is told so.
func (f *fetcher) ping(living context.Context) {
	defer close(f.stopped)
	tick := time.NewTicker(livingPeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-living.Done():
			return
		}
		ctx, cancel := context.WithTimeout(living, livingPeriod)
		if _, err := f.link.request(ctx, opPing, f.session); err != nil {
			f.link.log.Debug("ping not answered", "error", err)
		}
		cancel()
	}
}

// Close tells capture that this consumer leaves.
func (f *fetcher) Close() error {
	f.closeOnce.Do(func() {
		f.stop()
		<-f.stopped
		if err := f.sub.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			f.closeErr = err
		}
		data, err := json.Marshal(f.link.attachRequest("", f.session))
		if err == nil {
			err = f.link.nc.Publish(Subject(f.link.rig, f.link.camera, KindRelease), data)
		}
		if err != nil { // capture forgets a silent consumer by itself
			f.link.log.Debug("leaving not announced", "error", err)
		}
	})
	return f.closeErr
}

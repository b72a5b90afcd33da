package lsl

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
)

// Outlet publishes one stream. Its methods may be called from several goroutines.
type Outlet struct {
	info StreamInfo
	opts Options
	id   identity
	nets networks
	log  *slog.Logger

	shortInfo, fullInfo []byte
	matcher             *matcher

	data    *net.TCPListener
	service *udpSocket
	lobby   *lobby // nil when the shared port cannot be opened

	conns   *connections
	refused atomic.Int64
	journal *journal
	readers *roster

	pushMu  sync.Mutex
	scratch []byte // the sample being encoded

	done    chan struct{}
	running sync.WaitGroup
	once    sync.Once
	closing error
}

// NewOutlet opens the stream's sockets and starts to answer readers. The outlet lives until Close or until ctx is
// done. It fails with ErrInvalidInfo, ErrInterface, or the system's error when no socket can be opened.
//
// When the shared discovery port cannot be opened the outlet still serves readers that list this host as a known
// peer; it logs a warning, and Stats().Groups is 0.
func NewOutlet(ctx context.Context, info StreamInfo, opts Options) (*Outlet, error) {
	if info.SessionID == "" {
		info.SessionID = opts.SessionID
	}
	if info.SessionID == "" {
		info.SessionID = DefaultSession
	}
	if err := info.validate(); err != nil {
		return nil, err
	}
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	o := &Outlet{
		info: info, opts: opts, done: make(chan struct{}),
		conns:   newConnections(opts.MaxConnections),
		journal: newJournal(opts.bufferSamples(info.NominalRate), opts.BufferBytes),
		readers: newRoster(),
	}
	if err := o.open(); err != nil {
		return nil, errors.Join(err, o.closeSockets())
	}
	o.describe()
	o.announce()
	o.start(ctx)
	return o, nil
}

// open opens the sockets.
func (o *Outlet) open() (err error) {
	o.log = o.opts.Logger.With("stream", o.info.Name)
	if o.nets, err = chooseNetworks(o.opts); err != nil {
		return err
	}
	if o.data, err = listenData(o.opts); err != nil {
		return err
	}
	service, err := listenService(o.opts)
	if err != nil {
		return err
	}
	o.service = newUDPSocket(service, o.log)
	return nil
}

// announce lets the outlet hear queries.
func (o *Outlet) announce() {
	var err error
	if o.lobby, err = enterLobby(o); err != nil || o.lobby.joined == 0 {
		o.log.Warn("lsl: the stream cannot be found by multicast", "port", o.opts.DiscoveryPort, "error", err)
	}
}

// describe fixes the stream's identity and renders its documents.
func (o *Outlet) describe() {
	hostname, err := os.Hostname()
	if err != nil {
		hostname = "localhost"
	}
	o.id = identity{
		uid: newUID(), createdAt: Now(), hostname: hostname,
		dataPort: o.TCPPort(), servicePort: o.ServicePort(),
	}
	full := document(o.info, o.id, o.info.Desc.element())
	o.fullInfo = render(full)
	o.shortInfo = render(document(o.info, o.id, Node("desc")))
	o.matcher = newMatcher(full)
}

func (o *Outlet) start(ctx context.Context) {
	o.running.Go(o.serveData)
	o.running.Go(o.serveService)
	go func() { // not waited for: Close may be called from here
		select {
		case <-ctx.Done():
			_ = o.Close()
		case <-o.done:
		}
	}()
	o.log.Info("lsl: stream open", "uid", o.id.uid, "source_id", o.info.SourceID,
		"tcp", o.id.dataPort, "udp", o.id.servicePort, "groups", o.groups())
}

// Close ends the stream: readers see the loss at once and look for the stream's next outlet. It waits for the
// outlet's goroutines and closes every socket. Samples not sent yet are lost. Later calls do nothing.
func (o *Outlet) Close() error {
	o.once.Do(func() {
		close(o.done)
		o.journal.close()
		o.closing = o.closeSockets()
		o.conns.closeAll()
		o.running.Wait()
		o.log.Info("lsl: stream closed", "uid", o.id.uid)
	})
	return o.closing
}

func (o *Outlet) closeSockets() error {
	var errs []error
	if o.data != nil {
		errs = append(errs, o.data.Close())
	}
	if o.service != nil {
		errs = append(errs, o.service.close())
	}
	if o.lobby != nil {
		errs = append(errs, o.lobby.leave(o))
	}
	return errors.Join(errs...)
}

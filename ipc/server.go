package ipc

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/gpuring"
)

// ServerOptions adjust a Server; the zero value is usual.
type ServerOptions struct {
	MaxSilence time.Duration // a copying consumer that is silent for longer loses its reader; 2 s when zero
	NoGPU      string        // why a ring in host memory is not in device memory, for consumers
}

// DefaultMaxSilence is how long a copying consumer may be silent.
const DefaultMaxSilence = 2 * time.Second

// Server is capture's side of one camera's rings: it answers attach requests, and sends pixels to consumers
// that cannot map them. When a ring is replaced, consumers that copy come to its end while others attach to the next.
type Server struct {
	nc          *nats.Conn
	rig, camera string
	log         *slog.Logger
	host        string
	subs        []*nats.Subscription
	staged      []byte // the frame being sent; only the pixel subscription's goroutine uses it

	mu       sync.Mutex
	ring     *served // nil between two rings
	sessions map[string]*session
	stats    ServerStats
	closed   bool

	done, stopped chan struct{}
}

// served is a ring that consumers may attach to.
type served struct {
	writer gpuring.Writer
	device gpuring.DeviceWriter // the writer, when its pixels are in device memory; else nil
	noGPU  string
}

// ServerStats counts what a Server has done.
type ServerStats struct {
	Attaches  uint64 `json:"attaches"`
	Consumers int    `json:"copy_consumers"` // now
	Frames    uint64 `json:"copied_frames"`
	Bytes     uint64 `json:"copied_bytes"`
	Refused   uint64 `json:"refused"`
}

// NewServer answers for a camera until Close. Give it a connection of its own, apart from the one that frames
// are announced on: sending pixels to a slow consumer keeps a connection busy.
func NewServer(nc *nats.Conn, rig, camera string, w gpuring.Writer, logger *slog.Logger, opts ServerOptions) (*Server, error) {
	if err := errors.Join(CheckToken("rig", rig), CheckToken("camera", camera)); err != nil {
		return nil, err
	}
	if opts.MaxSilence <= 0 {
		opts.MaxSilence = DefaultMaxSilence
	}
	s := &Server{
		nc: nc, rig: rig, camera: camera, log: logger.With("camera", camera), host: hostname(),
		sessions: map[string]*session{}, done: make(chan struct{}), stopped: make(chan struct{}),
	}
	s.Serve(w, opts.NoGPU)
	go s.forget(opts.MaxSilence)
	for kind, handle := range map[Kind]nats.MsgHandler{KindRing: s.onRing, KindPixels: s.onPixels, KindRelease: s.onRelease} {
		sub, err := nc.Subscribe(Subject(rig, camera, kind), handle)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("ipc: serve camera %s: %w", camera, err), s.Close())
		}
		s.subs = append(s.subs, sub)
	}
	if err := nc.FlushTimeout(writeTimeout); err != nil { // from here on consumers are heard
		return nil, errors.Join(fmt.Errorf("ipc: serve camera %s: %w", camera, err), s.Close())
	}
	return s, nil
}

// Serve offers the camera's next ring to consumers; noGPU as in ServerOptions.
func (s *Server) Serve(w gpuring.Writer, noGPU string) {
	if noGPU == "" {
		noGPU = "the ring is in host memory: capture has no CUDA device"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ring = &served{writer: w, device: deviceOf(w), noGPU: noGPU}
}

// Leave offers the ring to nobody any more. Consumers that copy go on to fetch its frames until it is closed.
func (s *Server) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ring = nil
}

func deviceOf(w gpuring.Writer) gpuring.DeviceWriter {
	if d, ok := w.(gpuring.DeviceWriter); ok && d.Device() != nil {
		return d
	}
	return nil
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// Stats returns the counts.
func (s *Server) Stats() ServerStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Consumers = len(s.sessions)
	return stats
}

// Close stops answering and closes the consumers' readers; the ring itself is left alone. It is idempotent.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	close(s.done)
	<-s.stopped
	var errs []error
	for _, sub := range s.subs { // what has arrived is still answered, with a refusal
		if err := sub.Drain(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, s.dropSessions(func(*session) bool { return true }))...)
}

func (s *Server) onRing(m *nats.Msg) {
	reply, err := s.answer(m.Data)
	if err != nil {
		s.refused(err)
		reply = AttachReply{Error: codeOf(err), Text: err.Error()}
	}
	data, err := json.Marshal(reply)
	if err == nil {
		err = m.Respond(data)
	}
	if err != nil {
		s.log.Warn("attach request not answered", "error", err)
	}
}

func (s *Server) answer(data []byte) (AttachReply, error) {
	request, err := DecodeAttachRequest(data)
	if err != nil {
		return AttachReply{}, err
	}
	ring, err := s.serve(&request)
	if err != nil {
		return AttachReply{}, err
	}
	reply := s.describe(ring, &request)
	if request.Op == opProve {
		reply.Cell, err = ring.prove(&request)
	}
	return reply, err
}

// prove writes a consumer's challenge into device memory, on a stream of its own: no frame waits for it.
func (s *served) prove(r *AttachRequest) (cell int, err error) {
	if s.device == nil {
		return 0, fmt.Errorf("%w: %s", errRefused, s.noGPU)
	}
	challenge, err := r.challenge()
	if err != nil {
		return 0, err
	}
	return s.device.WriteProof(challenge)
}

// describe makes the answer to an attach request.
func (s *Server) describe(ring *served, r *AttachRequest) AttachReply {
	offers := []Offer{
		{Transport: CUDAIPC, Offered: ring.device != nil},
		{Transport: SHM, Offered: true},
		{Transport: Copy, Offered: true},
	}
	if ring.device == nil {
		offers[0].Reason = ring.noGPU
	}
	for i := range offers {
		if o := &offers[i]; o.Offered && !slices.Contains(r.Accepts, o.Transport) {
			o.Offered, o.Reason = false, "the consumer does not accept it"
		}
	}
	return AttachReply{Ring: ring.writer.Descriptor(), Transports: offers, Host: s.host, UID: os.Geteuid()}
}

func (s *Server) refused(err error) {
	s.mu.Lock()
	s.stats.Refused++
	s.mu.Unlock()
	s.log.Debug("request refused", "error", err)
}

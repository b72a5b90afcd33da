package ipc

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"facetrack/gpuring"
)

// Transport is a way in which a consumer gets at the pixels of a ring.
type Transport string

// The ladder of transports, fastest first.
const (
	CUDAIPC Transport = "cuda-ipc" // device memory of the capture process, mapped
	SHM     Transport = "shm"      // host memory, mapped
	Copy    Transport = "copy"     // a copy of each frame over NATS
)

// CUDA is what the first rung of the ladder is called where capture is in the same process: its device memory is used as
// it is. Whoever accepts cuda-ipc accepts this.
const CUDA Transport = "cuda"

// Ladder returns all transports in the order in which they are tried.
func Ladder() []Transport { return []Transport{CUDAIPC, SHM, Copy} }

// What an AttachRequest asks for.
const (
	opAttach = "attach" // describe the ring and what is offered
	opCopy   = "copy"   // keep a reader for this session, to fetch pixels
	opPing   = "ping"   // the session lives
	opProve  = "prove"  // write the challenge into device memory, where the consumer reads it back
)

// AttachRequest is what a consumer sends on .ring, and on .release when it leaves.
type AttachRequest struct {
	Op        string      `json:"op"`
	Identity  string      `json:"identity"` // of the consumer, for people
	Session   string      `json:"session"`  // unique for the link
	Host      string      `json:"host"`
	PID       int         `json:"pid"`
	Accepts   []Transport `json:"accepts,omitempty"`
	Challenge string      `json:"challenge,omitempty"` // of a proof: 64 random bytes in hexadecimal digits
}

// Offer says whether capture offers a transport, and why not.
type Offer struct {
	Transport Transport `json:"transport"`
	Offered   bool      `json:"offered"`
	Reason    string    `json:"reason,omitempty"`
}

// AttachReply describes a ring and the ways to its pixels.
type AttachReply struct {
	Error      string             `json:"error,omitempty"` // one of the codes of refusal; the text follows
	Text       string             `json:"text,omitempty"`
	Ring       gpuring.Descriptor `json:"ring"` // with geometry, generation, capture's process id, GPU and IPC handles
	Transports []Offer            `json:"transports"`
	Host       string             `json:"host"`           // where capture runs
	UID        int                `json:"uid"`            // as whom
	Cell       int                `json:"cell,omitempty"` // of a proof: where the challenge was written
}

// PixelRequest asks on .pixels for one frame; the answer comes in chunks.
type PixelRequest struct {
	Session string         `json:"session"`
	Ticket  gpuring.Ticket `json:"ticket"`
}

// maxRequest bounds what is read from a request or a reply of the attach protocol. The largest is the reply for a ring of
// gpuring.MaxSlots slots: a handle of 64 bytes for each, in base64, are 23 KiB.
const maxRequest = 64 << 10

const challengeBytes = 64

// DecodeAttachRequest reads and checks a request on .ring or .release.
func DecodeAttachRequest(data []byte) (AttachRequest, error) {
	var r AttachRequest
	if err := decodeSmall(data, &r); err != nil {
		return r, fmt.Errorf("ipc: decode attach request: %w", err)
	}
	switch {
	case !ValidToken(r.Session):
		return r, fmt.Errorf("ipc: decode attach request: %w", CheckToken("session", r.Session))
	case r.Identity == "" || len(r.Identity) > maxText:
		return r, fmt.Errorf("ipc: decode attach request: identity: %w: 1 to %d bytes expected", ErrInvalid, maxText)
	case len(r.Accepts) > len(Ladder()):
		return r, fmt.Errorf("ipc: decode attach request: accepts: %w: at most %d", ErrInvalid, len(Ladder()))
	}
	if r.Op == opProve || r.Challenge != "" {
		if _, err := r.challenge(); err != nil {
			return r, fmt.Errorf("ipc: decode attach request: %w", err)
		}
	}
	return r, nil
}

func (r *AttachRequest) challenge() (c [challengeBytes]byte, err error) {
	if len(r.Challenge) != 2*len(c) {
		return c, fmt.Errorf("challenge: %w: %d hexadecimal digits expected", ErrInvalid, 2*len(c))
	}
	if _, err := hex.Decode(c[:], []byte(r.Challenge)); err != nil {
		return c, fmt.Errorf("challenge: %w: %w", ErrInvalid, err)
	}
	return c, nil
}

// DecodeAttachReply reads and checks a reply on .ring; one that refuses has only Error and Text.
func DecodeAttachReply(data []byte) (AttachReply, error) {
	var r AttachReply
	if err := decodeSmall(data, &r); err != nil {
		return r, fmt.Errorf("ipc: decode attach reply: %w", err)
	}
	if r.Error != "" {
		return r, nil
	}
	g := r.Ring.Geometry
	switch {
	case r.Ring.Ring == "" || len(r.Ring.Ring) > maxText:
		return r, fmt.Errorf("ipc: decode attach reply: ring: %w: an id of 1 to %d bytes expected", ErrInvalid, maxText)
	case g.Width <= 0 || g.Width > MaxSide || g.Height <= 0 || g.Height > MaxSide || !knownFormat(g.Format) ||
		g.Slots <= 0 || g.Slots > gpuring.MaxSlots:
		return r, fmt.Errorf("ipc: decode attach reply: ring.geometry: %w: %+v", ErrInvalid, g)
	case r.Cell < 0:
		return r, fmt.Errorf("ipc: decode attach reply: cell: %w: %d", ErrInvalid, r.Cell)
	}
	if err := checkDevice(r.Ring.Device); err != nil {
		return r, fmt.Errorf("ipc: decode attach reply: ring.device: %w", err)
	}
	return r, nil
}

// checkDevice looks at what this package shows or counts; gpuring checks offsets and sizes when it opens the ring.
func checkDevice(d *gpuring.DeviceMemory) error {
	switch {
	case d == nil:
		return nil
	case d.GPU == "" || len(d.GPU) > maxText:
		return fmt.Errorf("gpu_uuid: %w: 1 to %d bytes expected", ErrInvalid, maxText)
	case len(d.Events) > gpuring.MaxSlots+1:
		return fmt.Errorf("event_handles: %w: %d, at most %d", ErrInvalid, len(d.Events), gpuring.MaxSlots+1)
	}
	return nil
}

// DecodePixelRequest reads and checks a request on .pixels.
func DecodePixelRequest(data []byte) (PixelRequest, error) {
	var r PixelRequest
	if err := decodeSmall(data, &r); err != nil {
		return r, fmt.Errorf("ipc: decode pixel request: %w", err)
	}
	if err := CheckToken("session", r.Session); err != nil {
		return r, fmt.Errorf("ipc: decode pixel request: %w", err)
	}
	if r.Ticket.Slot < 0 || len(r.Ticket.RingID) > maxText {
		return r, fmt.Errorf("ipc: decode pixel request: ticket: %w: %+v", ErrInvalid, r.Ticket)
	}
	return r, nil
}

func decodeSmall(data []byte, into any) error {
	if len(data) > maxRequest {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrInvalid, len(data), maxRequest)
	}
	return json.Unmarshal(data, into)
}

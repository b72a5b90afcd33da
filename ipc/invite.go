package ipc

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
)

// Invitation asks the consumers of a camera, on .invite, to attach to a ring before its first frame comes. Mapping a ring in device
// memory takes milliseconds, and when a rig starts all its rings are mapped at once: a ring may be written around before that is done.
type Invitation struct {
	Camera string `json:"camera"`
	Ring   string `json:"ring"`
}

// Arrival is a consumer's answer: it is attached, unless Error says why not.
type Arrival struct {
	Identity string `json:"identity"` // of the consumer
	Error    string `json:"error,omitempty"`
}

// DecodeInvitation reads and checks a message on .invite.
func DecodeInvitation(data []byte) (Invitation, error) {
	var i Invitation
	if err := decodeSmall(data, &i); err != nil {
		return i, fmt.Errorf("ipc: decode invitation: %w", err)
	}
	if err := CheckToken("camera", i.Camera); err != nil {
		return i, fmt.Errorf("ipc: decode invitation: %w", err)
	}
	if i.Ring == "" || len(i.Ring) > maxText {
		return i, fmt.Errorf("ipc: decode invitation: ring: %w: an id of 1 to %d bytes expected", ErrInvalid, maxText)
	}
	return i, nil
}

// DecodeArrival reads and checks an answer to an invitation.
func DecodeArrival(data []byte) (Arrival, error) {
	var a Arrival
	if err := decodeSmall(data, &a); err != nil {
		return a, fmt.Errorf("ipc: decode arrival: %w", err)
	}
	if a.Identity == "" || len(a.Identity) > maxText {
		return a, fmt.Errorf("ipc: decode arrival: identity: %w: 1 to %d bytes expected", ErrInvalid, maxText)
	}
	return a, nil
}

// Invite asks consumers to attach to a ring that is served, and waits until each of guests has answered, attached or not. It returns
// those that have not: when ctx is done, or at once when nobody listens at all.
func (s *Server) Invite(ctx context.Context, ring string, guests []string) (absent []string, err error) {
	data, err := json.Marshal(Invitation{Camera: s.camera, Ring: ring})
	if err != nil {
		return guests, err
	}
	inbox := s.nc.NewInbox()
	answers, err := s.nc.SubscribeSync(inbox)
	if err != nil {
		return guests, fmt.Errorf("ipc: invite to %s: %w", s.camera, err)
	}
	defer func() { _ = answers.Unsubscribe() }()
	if err := s.nc.PublishRequest(Subject(s.rig, s.camera, KindInvite), inbox, data); err != nil {
		return guests, fmt.Errorf("ipc: invite to %s: %w", s.camera, err)
	}
	absent = slices.Clone(guests)
	for len(absent) > 0 {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return absent, fmt.Errorf("ipc: invite to %s: %w", s.camera, err)
		}
		a, err := DecodeArrival(m.Data)
		if err != nil {
			s.log.Warn("answer to an invitation ignored", "error", err)
			continue
		}
		if a.Error != "" {
			s.log.Info("consumer cannot attach", "consumer", a.Identity, "error", a.Error)
		}
		absent = slices.DeleteFunc(absent, func(name string) bool { return name == a.Identity })
	}
	return nil, nil
}

// Answer sends it in reply to an invitation.
func (a Arrival) Answer(m *nats.Msg) error {
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return m.Respond(data)
}

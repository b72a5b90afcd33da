package ipc

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/clock"
	"facetrack/internal/clocksync"
)

// ClockSubject is where the tracker of a rig answers with a [ClockAnswer], for those on other hosts.
func ClockSubject(rig string) string { return "facetrack." + rig + ".clock" }

// ParticipantsSubject is where the tracker of a rig says who is where, on all hosts.
func ParticipantsSubject(rig string) string { return subjectRoot + "." + rig + ".participants" }

// KeptPrefix begins the subjects on which what a rig's host keeps comes to the hub.
func KeptPrefix(rig string) string { return "facetrack.kept." + rig }

// ClockAnswer is what a rig's host knows of its own clock. Times are nanoseconds of CLOCK_MONOTONIC.
type ClockAnswer struct {
	Epoch   string `json:"epoch"`   // of the clock: another one after each boot
	HeardNS int64  `json:"t_heard"` // when the request came
	SentNS  int64  `json:"t_sent"`  // when this answer left
	// LatencyMS are the cameras whose pictures were taken before they came, and how long.
	LatencyMS map[string]float64 `json:"latency_ms,omitempty"`
}

// ServeClock answers those who ask for this host's clock; latencies are asked for at each request.
func ServeClock(nc *nats.Conn, rig string, latencies func() map[string]float64) (*nats.Subscription, error) {
	sub, err := nc.Subscribe(ClockSubject(rig), func(m *nats.Msg) {
		a := ClockAnswer{Epoch: clock.Epoch(), HeardNS: clock.Now(), LatencyMS: latencies()}
		a.SentNS = clock.Now()
		data, err := json.Marshal(a)
		if err == nil {
			_ = m.Respond(data) // who does not hear it asks again
		}
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", ClockSubject(rig), err)
	}
	return sub, nil
}

// AskClock asks a rig's host for its clock, once. [nats.ErrNoResponders] when nobody is there who could answer.
func AskClock(nc *nats.Conn, rig string, wait time.Duration) (clocksync.Exchange, ClockAnswer, error) {
	var a ClockAnswer
	asked := clock.Now()
	m, err := nc.Request(ClockSubject(rig), nil, wait)
	back := clock.Now()
	if err != nil {
		return clocksync.Exchange{}, a, fmt.Errorf("ask rig %s for its clock: %w", rig, err)
	}
	if err := json.Unmarshal(m.Data, &a); err != nil {
		return clocksync.Exchange{}, a, fmt.Errorf("clock of rig %s: %w", rig, err)
	}
	return clocksync.Exchange{AskedNS: asked, BackNS: back, HeardNS: a.HeardNS, AnsweredNS: a.SentNS, Epoch: a.Epoch}, a, nil
}

// Participants is who is where on all hosts, as the hub sees it.
type Participants struct {
	Rig          string       `json:"rig"`
	TimeNS       int64        `json:"t_ns"` // CLOCK_MONOTONIC of this rig's host, as all times here
	WallNS       int64        `json:"t_wall_ns"`
	Hosts        []Host       `json:"hosts"`
	Participants []PersonSeen `json:"participants"`
}

// Host is how another host is reached, and what is known of its clock.
type Host struct {
	Rig    string    `json:"rig"`
	Up     bool      `json:"up"`
	Since  time.Time `json:"since"`            // when it came or went
	Reason string    `json:"reason,omitempty"` // why it is not reached
	// Clock is nil until it was measured.
	Clock *HostClock `json:"clock"`
	// Steps counts how often its clock was another one than before.
	Steps int `json:"clock_steps"`
	// Frames were taken over; the others came too late, twice, or before the clock was known.
	Frames  uint64 `json:"frames"`
	Late    uint64 `json:"late"`
	Old     uint64 `json:"old"`
	Untimed uint64 `json:"untimed"`
}

// HostClock is how far a host's clock is from this one's.
type HostClock struct {
	OffsetNS    int64   `json:"offset_ns"` // added to times of that host
	ErrorNS     int64   `json:"error_ns"`  // how wrong that may be
	DriftPPM    float64 `json:"drift_ppm"`
	RoundTripNS int64   `json:"round_trip_ns"`
	AgeNS       int64   `json:"age_ns"` // since it was measured
}

// PersonSeen is a person and where they are seen.
type PersonSeen struct {
	Name    string   `json:"participant"` // or camera and number, as cam0:1 and left/cam0:1
	Present bool     `json:"present"`
	Places  []SeenAt `json:"places"` // where they are seen; of one who is not, where they were last
}

// SeenAt is a camera that sees somebody.
type SeenAt struct {
	Rig       string `json:"rig"`
	Camera    string `json:"camera"`
	ID        int    `json:"id"`
	CaptureNS int64  `json:"t_capture_ns"` // last, on the clock of the hub …
	ErrorNS   int64  `json:"error_ns"`     // … give or take
}

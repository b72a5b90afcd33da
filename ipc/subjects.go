package ipc

import (
	"errors"
	"fmt"
	"strings"
)

// Kind is the last token of a subject: what a message is about.
type Kind string

// Kinds of subjects: results of the stages, bookkeeping, and the requests of the attach protocol.
const (
	KindFrame      Kind = "frame"      // Frame
	KindDetections Kind = "detections" // Detections
	KindLandmarks  Kind = "landmarks"  // Landmarks
	KindTracks     Kind = "tracks"     // Tracks
	KindDrops      Kind = "drops"      // Drop
	KindAck        Kind = "ack"        // Ack
	KindEnd        Kind = "end"        // End
	KindRing       Kind = "ring"       // AttachRequest, answered with an AttachReply
	KindPixels     Kind = "pixels"     // PixelRequest, answered in chunks
	KindRelease    Kind = "release"    // AttachRequest of a consumer that leaves
	KindInvite     Kind = "invite"     // Invitation, answered with an Arrival by each consumer
	KindEvents     Kind = "events"     // Event
)

// Any is the wildcard for one token in a subscription.
const Any = "*"

const (
	subjectRoot = "face"
	maxToken    = 32
)

// Errors of names.
var (
	ErrToken   = errors.New("not a name of 1 to 32 characters of A-Z a-z 0-9 _ -")
	ErrSubject = errors.New("not a subject face.<rig>.<camera>.<kind>")
)

// ValidToken says whether s can name a rig or a camera: 1 to 32 characters of [A-Za-z0-9_-].
func ValidToken(s string) bool {
	if s == "" || len(s) > maxToken {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// CheckToken is ValidToken as an error that names the value; what says what it names.
func CheckToken(what, s string) error {
	if ValidToken(s) {
		return nil
	}
	if len(s) > maxToken {
		s = s[:maxToken] + "…"
	}
	return fmt.Errorf("%s %q: %w", what, s, ErrToken)
}

// Subject returns face.<rig>.<camera>.<kind>. Rig and camera are valid tokens, or [Any] to subscribe.
func Subject(rig, camera string, kind Kind) string {
	return subjectRoot + "." + rig + "." + camera + "." + string(kind)
}

// AllCameras returns the subject of one kind for every camera of a rig.
func AllCameras(rig string, kind Kind) string { return Subject(rig, Any, kind) }

// AllKinds returns the subject of everything about one camera.
func AllKinds(rig, camera string) string { return Subject(rig, camera, Any) }

// ParseSubject takes a received subject apart and checks each token.
func ParseSubject(subject string) (rig, camera string, kind Kind, err error) {
	t := strings.Split(subject, ".")
	if len(t) != 4 || t[0] != subjectRoot || !ValidToken(t[1]) || !ValidToken(t[2]) || !known(Kind(t[3])) {
		return "", "", "", fmt.Errorf("%q: %w", subject, ErrSubject)
	}
	return t[1], t[2], Kind(t[3]), nil
}

func known(k Kind) bool {
	switch k {
	case KindFrame, KindDetections, KindLandmarks, KindTracks, KindDrops, KindAck, KindEnd,
		KindRing, KindPixels, KindRelease, KindInvite, KindEvents:
		return true
	}
	return false
}

package ipc

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Number is a measure that may be unknown: NaN, which JSON writes as null.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(data, (*float64)(n))
}

// Synchrony is how far the expressions of two participants went together in one window; package track/synchrony defines the measures.
type Synchrony struct {
	A         string            `json:"a"`            // participants: positive lags mean that B follows A
	B         string            `json:"b"`            //
	FromNS    int64             `json:"t_from_ns"`    // the window, from ≤ t < to, on the time of the frames (Frame.TimeNS)
	ToNS      int64             `json:"t_to_ns"`      //
	CaptureNS int64             `json:"t_capture_ns"` // its end on CLOCK_MONOTONIC
	Series    []SynchronySeries `json:"series"`       // one a channel, and last their mean
}

// SynchronySeries are the measures of one channel.
type SynchronySeries struct {
	Channel   string           `json:"channel"`
	Value     SynchronyLagged  `json:"value"`     // of the values
	Transient SynchronyLagged  `json:"transient"` // of their derivatives
	Sustained SynchronyAtLevel `json:"sustained"` // of their slow baselines
}

// UnmarshalJSON implements json.Unmarshaler. A measure that is not there is not known, like one that is null.
func (s *SynchronySeries) UnmarshalJSON(data []byte) error {
	type plain SynchronySeries // without this method
	unknown := Number(math.NaN())
	peak := SynchronyPeak{R: unknown, LagS: unknown}
	lagged := SynchronyLagged{R: unknown, Nearest: peak, Highest: peak}
	p := plain{Value: lagged, Transient: lagged, Sustained: SynchronyAtLevel{R: unknown}}
	err := json.Unmarshal(data, &p)
	*s = SynchronySeries(p)
	return err
}

// SynchronyLagged is a windowed cross-correlation; null where it cannot be told.
type SynchronyLagged struct {
	R       Number        `json:"r"`       // at lag 0
	Nearest SynchronyPeak `json:"nearest"` // the peak nearest to lag 0
	Highest SynchronyPeak `json:"highest"` // the highest peak
	Valid   int           `json:"valid"`   // pairs of samples at lag 0
}

// SynchronyPeak is a maximum over the lags.
type SynchronyPeak struct {
	R    Number `json:"r"`
	LagS Number `json:"lag_s"` // positive: B follows A
}

// SynchronyAtLevel is a correlation at lag 0.
type SynchronyAtLevel struct {
	R     Number `json:"r"`
	Valid int    `json:"valid"`
}

// SynchronyMean is the channel of the last series: the mean of all.
const SynchronyMean = "mean"

// MaxSeries bounds the series of a Synchrony.
const MaxSeries = 129

// AppendJSON implements [Message].
func (s *Synchrony) AppendJSON(buf []byte) ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("ipc: encode synchrony: %w", err)
	}
	return append(buf, data...), nil
}

// DecodeSynchrony reads a synchrony message.
func DecodeSynchrony(data []byte) (Synchrony, error) {
	var s Synchrony
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("ipc: decode synchrony: %w", err)
	}
	return s, s.check()
}

func (s *Synchrony) check() error {
	if len(s.Series) > MaxSeries {
		return fmt.Errorf("ipc: synchrony: %w: %d series, at most %d", ErrInvalid, len(s.Series), MaxSeries)
	}
	for i := range s.Series {
		if n := len(s.Series[i].Channel); n > maxText {
			return fmt.Errorf("ipc: synchrony: series[%d].channel: %w: %d bytes, at most %d", i, ErrInvalid, n, maxText)
		}
	}
	return errors.Join(checkParticipant("a", s.A), checkParticipant("b", s.B))
}

// Participant names somebody who has no name: the camera and the number there, as cam0:1.
func Participant(camera string, id int) string { return fmt.Sprintf("%s:%d", camera, id) }

// ParseParticipant takes apart what [Participant] writes; ok is false for anything else, names included. The camera may be a [Place].
func ParseParticipant(s string) (camera string, id int, ok bool) {
	camera, number, _ := strings.Cut(s, ":")
	id, err := strconv.Atoi(number)
	_, _, placed := ParsePlace(camera)
	return camera, id, err == nil && id > 0 && id < 1e9 && (placed || ValidToken(camera)) && s == Participant(camera, id)
}

// Place names a camera of another host's rig, as left/cam0.
func Place(rig, camera string) string { return rig + "/" + camera }

// ParsePlace takes apart what [Place] writes; ok is false for anything else, names of cameras included.
func ParsePlace(s string) (rig, camera string, ok bool) {
	rig, camera, _ = strings.Cut(s, "/")
	return rig, camera, ValidToken(rig) && ValidToken(camera)
}

// ValidParticipant says whether s is a name, or camera and number as [Participant] writes them.
func ValidParticipant(s string) bool {
	_, _, numbered := ParseParticipant(s)
	return numbered || ValidToken(s)
}

// FindParticipant finds who has a name among the faces of a frame or, where that is empty, a number; nil when they are not in it.
func FindParticipant(faces []TrackedFace, name string, id int) *TrackedFace {
	for i := range faces {
		if f := &faces[i]; name != "" && f.Participant == name || name == "" && f.ID == id {
			return f
		}
	}
	return nil
}

func checkParticipant(what, s string) error {
	if !ValidParticipant(s) {
		return fmt.Errorf("%s %q: %w, nor camera and number as cam0:1 or left/cam0:1", what, shorten(s, maxToken), ErrToken)
	}
	return nil
}

const synchronyToken = "synchrony"

// SynchronySubject returns face.<rig>.synchrony.<a>.<b>; both may be [Any] to subscribe.
func SynchronySubject(rig, a, b string) string {
	return strings.Join([]string{subjectRoot, rig, synchronyToken, a, b}, ".")
}

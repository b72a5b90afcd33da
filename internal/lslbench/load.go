package lslbench

import (
	"fmt"
	"strconv"
	"time"

	"facetrack/lsl"
)

// Load is what is sent.
type Load struct {
	Participants int           `json:"participants"` // each with one stream of every kind
	Rate         float64       `json:"rate"`         // samples per second of each stream
	Readers      int           `json:"readers"`      // of each stream
	InStep       bool          `json:"in_step"`      // all participants' samples at once; else spread evenly
	Duration     time.Duration `json:"-"`
}

// Kind is one of a participant's streams.
type Kind struct {
	Type     string
	Channels int
}

// Kinds are the streams of a participant; liblsl.c has the same.
var Kinds = []Kind{{"FaceExpression", 54}, {"MoCap", 12}, {"Gaze", 19}}

// Streams is the number of all streams.
func (l Load) Streams() int { return l.Participants * len(Kinds) }

// Flags make this program, as 'bench lsl', the sender.
func (l Load) Flags() []string {
	var flags []string
	for _, a := range l.arguments() {
		flags = append(flags, "--send="+a)
	}
	return flags
}

// arguments are those of a sender.
func (l Load) arguments() []string {
	step := "0"
	if l.InStep {
		step = "1"
	}
	return []string{
		strconv.Itoa(l.Participants), strconv.FormatFloat(l.Rate, 'f', -1, 64), step,
		strconv.FormatFloat(l.Duration.Seconds(), 'f', -1, 64),
	}
}

func parseLoad(args []string) (l Load, err error) {
	var seconds float64
	var step int
	if len(args) != 4 {
		return l, fmt.Errorf("lslbench: %d arguments, want 4", len(args))
	}
	for i, into := range []any{&l.Participants, &l.Rate, &step, &seconds} {
		if _, err := fmt.Sscan(args[i], into); err != nil {
			return l, fmt.Errorf("lslbench: argument %q: %w", args[i], err)
		}
	}
	l.InStep, l.Duration = step == 1, time.Duration(seconds*float64(time.Second))
	return l, nil
}

func (l Load) info(participant int, k Kind) lsl.StreamInfo {
	return lsl.StreamInfo{
		Name: fmt.Sprintf("bench %d %s", participant, k.Type), Type: k.Type, ChannelCount: k.Channels, NominalRate: l.Rate,
		Format: lsl.Float32, SourceID: fmt.Sprintf("facetrack-bench:%d:%s", participant, k.Type), SessionID: session,
	}
}

// session keeps the streams out of the lists of other programs.
const session = "facetrack-bench"

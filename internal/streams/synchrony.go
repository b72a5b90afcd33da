package streams

import (
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"facetrack/ipc"
	"facetrack/lsl"
)

// pair is the stream of two participants.
type pair struct {
	stream Stream
	names  []string // of the series
	row    []float32
}

// measures are the channels of each series, in the order of row.
var measures = []struct{ suffix, quantity, unit string }{
	{"R", "Correlation", "normalized"},
	{"NearestR", "Correlation", "normalized"}, {"NearestLag", "Lag", "seconds"},
	{"HighestR", "Correlation", "normalized"}, {"HighestLag", "Lag", "seconds"},
	{"TransientR", "Correlation", "normalized"},
	{"TransientNearestR", "Correlation", "normalized"}, {"TransientNearestLag", "Lag", "seconds"},
	{"TransientHighestR", "Correlation", "normalized"}, {"TransientHighestLag", "Lag", "seconds"},
	{"SustainedR", "Correlation", "normalized"},
}

// ErrNoPair says that a synchrony is of two who are not in the configuration.
var ErrNoPair = errors.New("no such pair of participants")

func (s *Set) openPair(who [2]string) (*pair, error) {
	p := &pair{names: append(append([]string{}, s.cfg.Synchrony.Channels...), ipc.SynchronyMean)}
	var channels []lsl.Channel
	for _, name := range p.names {
		for _, m := range measures {
			channels = append(channels, lsl.Channel{Label: name + m.suffix, Type: m.quantity, Unit: m.unit, Fields: []*lsl.Element{lsl.Leaf("blendshape", name)}})
		}
	}
	p.row = make([]float32, len(channels))
	c := s.cfg.Synchrony
	var err error
	p.stream, err = s.start(lsl.StreamInfo{
		Name: fmt.Sprintf("facetrack %s %s %s synchrony", s.cfg.Rig, who[0], who[1]), Type: "Synchrony", ChannelCount: len(channels), Format: lsl.Float32,
		SourceID: fmt.Sprintf("%s:%s:synchrony:%08x", who[0], who[1], crc32.ChecksumIEEE([]byte(strings.Join(p.names, " ")))), // other channels are another stream
		Desc: lsl.Desc{
			Channels: channels, Acquisition: &lsl.Acquisition{Manufacturer: "facetrack"},
			Extra: []*lsl.Element{lsl.Node("synchrony",
				lsl.Leaf("a", who[0]), lsl.Leaf("b", who[1]), lsl.Leaf("positive_lag", "b follows a"), lsl.Leaf("stamp", "end of the window"),
				lsl.Leaf("window_s", number(c.WindowSeconds)), lsl.Leaf("step_s", number(c.StepSeconds)), lsl.Leaf("max_lag_s", number(c.MaxLagSeconds)),
				lsl.Leaf("derivative_s", number(c.DerivativeSeconds)), lsl.Leaf("baseline_s", number(c.BaselineSeconds)),
				lsl.Leaf("sustained_s", number(c.SustainedSeconds)), lsl.Leaf("rate_hz", number(c.RateHz)),
			)},
		},
	})
	return p, err
}

// Synchrony makes a row of what two participants have in common, stamped with the end of its window.
func (s *Set) Synchrony(m *ipc.Synchrony) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pairs[[2]string{m.A, m.B}]
	if p == nil || len(m.Series) != len(p.names) {
		return fmt.Errorf("%s and %s, %d series: %w", m.A, m.B, len(m.Series), ErrNoPair)
	}
	row := p.row[:0]
	for i, series := range m.Series {
		if series.Channel != p.names[i] {
			return fmt.Errorf("%s and %s, series %q: %w", m.A, m.B, series.Channel, ErrNoPair)
		}
		row = appendLagged(row, series.Value)
		row = appendLagged(row, series.Transient)
		row = append(row, float32(series.Sustained.R))
	}
	return p.stream.Push(lsl.Seconds(s.endOf(m)), row)
}

func appendLagged(row []float32, l ipc.SynchronyLagged) []float32 {
	return append(row, float32(l.R), float32(l.Nearest.R), float32(l.Nearest.LagS), float32(l.Highest.R), float32(l.Highest.LagS))
}

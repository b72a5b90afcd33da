package lsl

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxChannels = 1 << 20
	maxText     = 1 << 10 // bytes of a name, type or id: the short info has to fit into one datagram
)

// StreamInfo describes a stream. It does not change while its outlet lives.
type StreamInfo struct {
	Name         string  // shown to people and used to select the stream; not empty
	Type         string  // content type, e.g. "MoCap", "Gaze", "Markers"
	ChannelCount int     // values per sample, at least 1
	NominalRate  float64 // samples per second; 0 when samples come irregularly or may be missing
	Format       Format  // type of every value
	SourceID     string  // unique per stream and the same after a restart, so that readers recover; not empty
	SessionID    string  // only readers of the same session find the stream; "" means "default"
	Desc         Desc    // labels, units and other metadata
}

func (s StreamInfo) validate() error {
	if s.Name == "" {
		return fmt.Errorf("%w: Name is empty: name the stream", ErrInvalidInfo)
	}
	if s.SourceID == "" {
		return fmt.Errorf("%w: SourceID is empty: give an id that stays the same across restarts", ErrInvalidInfo)
	}
	for _, f := range []struct{ field, text string }{
		{"Name", s.Name}, {"Type", s.Type}, {"SourceID", s.SourceID}, {"SessionID", s.SessionID},
	} {
		if err := validText(f.field, f.text); err != nil {
			return err
		}
	}
	if s.ChannelCount < 1 || s.ChannelCount > maxChannels {
		return fmt.Errorf("%w: ChannelCount is %d: give 1 to %d", ErrInvalidInfo, s.ChannelCount, maxChannels)
	}
	if math.IsNaN(s.NominalRate) || math.IsInf(s.NominalRate, 0) || s.NominalRate < 0 {
		return fmt.Errorf("%w: NominalRate is %v: give samples per second, or 0", ErrInvalidInfo, s.NominalRate)
	}
	if !s.Format.known() {
		return fmt.Errorf("%w: Format is %q: use one of the constants", ErrInvalidInfo, s.Format)
	}
	return s.Desc.validate(s.ChannelCount)
}

// validText refuses what a reader could not select by: its queries are single lines with the text in apostrophes.
func validText(field, text string) error {
	switch {
	case len(text) > maxText:
		return fmt.Errorf("%w: %s has %d bytes: shorten it to %d", ErrInvalidInfo, field, len(text), maxText)
	case !utf8.ValidString(text):
		return fmt.Errorf("%w: %s is not UTF-8: convert it", ErrInvalidInfo, field)
	case strings.ContainsRune(text, '\''):
		return fmt.Errorf("%w: %s %q has an apostrophe, which queries cannot quote: remove it", ErrInvalidInfo, field, text)
	case strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("%w: %s %q has a control character: remove it", ErrInvalidInfo, field, text)
	}
	return nil
}

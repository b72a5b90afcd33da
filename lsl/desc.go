package lsl

import (
	"fmt"
	"strconv"
)

// Desc is the metadata of a stream, laid out as the XDF conventions ask, so that importers find labels and units.
// Parts left at their zero value are left out of the document.
type Desc struct {
	Channels        []Channel        // one per value of a sample, in the same order; or none
	Acquisition     *Acquisition     // the device and software that made the samples
	Synchronization *Synchronization // what is known of the timing
	Setup           *Setup           // the space or rig in which positions are given
	Extra           []*Element       // anything else, appended as given
}

// Channel describes one value of a sample.
type Channel struct {
	Label  string     // unique within the stream, e.g. "jawOpen"
	Type   string     // quantity, e.g. "PositionX", "Blendshape", "Confidence"
	Unit   string     // e.g. "meters", "degrees", "normalized"
	Fields []*Element // further facts, e.g. eye, marker, object
}

// Acquisition names what made the samples.
type Acquisition struct {
	Manufacturer string
	Model        string
	Fields       []*Element // further facts, e.g. settings, compensated_lag
}

// Synchronization says how far the stamps can be trusted.
type Synchronization struct {
	Offset         *Offset // latency between event and stamp; nil when the stamps are already corrected or it is unknown
	CanDropSamples bool    // true for cameras: importers must not count samples to tell time
}

// Offset is the distribution of the delay between an event and its stamp, in seconds. Importers subtract the mean.
type Offset struct{ Mean, RMS, Median, Percentile5, Percentile95 float64 }

// Setup names the space in which positions are given.
type Setup struct {
	Name   string
	Fields []*Element // further facts, e.g. bounds
}

func (d Desc) validate(channels int) error {
	if len(d.Channels) != 0 && len(d.Channels) != channels {
		return fmt.Errorf("%w: Desc has %d channels and ChannelCount is %d: describe each channel or none",
			ErrInvalidInfo, len(d.Channels), channels)
	}
	return d.element().validate(0)
}

func (d Desc) element() *Element {
	root := Node("desc")
	if len(d.Channels) > 0 {
		channels := root.Add(Node("channels"))
		for _, c := range d.Channels {
			channels.Add(c.element())
		}
	}
	if a := d.Acquisition; a != nil {
		root.Add(Node("acquisition", a.Fields...).prepend("model", a.Model).prepend("manufacturer", a.Manufacturer))
	}
	if s := d.Synchronization; s != nil {
		root.Add(s.element())
	}
	if s := d.Setup; s != nil {
		root.Add(Node("setup", s.Fields...).prepend("name", s.Name))
	}
	root.Children = append(root.Children, d.Extra...)
	return root
}

func (c Channel) element() *Element {
	return Node("channel", c.Fields...).prepend("unit", c.Unit).prepend("type", c.Type).prepend("label", c.Label)
}

func (s Synchronization) element() *Element {
	e := Node("synchronization")
	if o := s.Offset; o != nil {
		for _, f := range []struct {
			name  string
			value float64
		}{
			{"offset_mean", o.Mean}, {"offset_rms", o.RMS}, {"offset_median", o.Median},
			{"offset_5_centile", o.Percentile5}, {"offset_95_centile", o.Percentile95},
		} {
			e.Add(Leaf(f.name, formatNumber(f.value)))
		}
	}
	e.Add(Leaf("can_drop_samples", strconv.FormatBool(s.CanDropSamples)))
	return e
}

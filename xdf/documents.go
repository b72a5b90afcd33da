package xdf

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const prolog = `<?xml version="1.0"?>`

// fileHeader is the content of the first chunk. The date is written as LabRecorder does, ISO 8601 with the offset from UTC.
func fileHeader(now time.Time) []byte {
	return []byte(prolog + "<info><version>1.0</version><datetime>" + now.UTC().Format("2006-01-02T15:04:05-0700") + "</datetime></info>")
}

// facts is what a stream's footer says of it.
type facts struct {
	first, last float64 // stamps in seconds
	count       uint64  // samples
	offsets     []clockOffset
}

type clockOffset struct{ at, offset float64 }

func (f *facts) add(stamp float64) {
	if f.count == 0 {
		f.first = stamp
	}
	f.last = stamp
	f.count++
}

// rate is the measured number of samples per second; 0 when the stamps do not give one.
func (f *facts) rate() float64 {
	rate := float64(f.count-1) / (f.last - f.first)
	if f.count < 2 || f.last <= f.first || !finite(rate) {
		return 0
	}
	return rate
}

// footer is the content of the last chunk of a stream. The stamps of a stream without samples are 0.
func (f *facts) footer() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, prolog+"<info><first_timestamp>%s</first_timestamp><last_timestamp>%s</last_timestamp><sample_count>%d</sample_count>",
		number(f.first), number(f.last), f.count)
	fmt.Fprintf(&b, "<measured_srate>%s</measured_srate><clock_offsets>", number(f.rate()))
	for _, o := range f.offsets {
		fmt.Fprintf(&b, "<offset><time>%s</time><value>%s</value></offset>", number(o.at), number(o.offset))
	}
	b.WriteString("</clock_offsets></info>")
	return []byte(b.String())
}

// number is the shortest text that is read back as v, without an exponent, which not every reader knows.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

package ipcbench

import "testing"

func TestCountersThatBeganAgainAreNotBelieved(t *testing.T) {
	for _, c := range []struct {
		seen *Seen
		want bool
	}{
		{nil, false},
		{&Seen{How: byCounters, Up: 99}, false},
		{&Seen{How: byCounters, Up: 100}, true},
		{&Seen{How: byCounters, Up: 108}, true},
		{&Seen{How: bySamples, Up: 90}, true}, // an estimate may be off
	} {
		if got := c.seen.believed(100); got != nil != c.want || got != nil && got != c.seen {
			t.Errorf("%+v: %+v", c.seen, got)
		}
	}
}

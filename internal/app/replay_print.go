package app

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// print shows the account of a replay.
func (s playedSummary) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "camera\tread\ttracked\tdropped\tfaces\tdropped then\tnot in the store")
	names := slices.Sorted(maps.Keys(s.Cameras))
	for _, name := range names {
		a := s.Cameras[name]
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", name, a.Read, a.Tracked, a.Read-a.Tracked, a.Faces, a.DroppedThen, a.Missing)
	}
	_ = w.Flush()
	for _, name := range names {
		a := s.Cameras[name]
		if a.Gone > 0 && a.Read > 0 {
			why := "no word says why"
			if !s.Whole {
				why = "the limits of the store have taken them"
			}
			_, _ = fmt.Fprintf(out, "  %s begins with frame %d: of those before, %d are not in the store (%s)\n", name, a.First, a.Gone, why)
		}
		if n := a.Missing - a.Gone; n > 0 {
			_, _ = fmt.Fprintf(out, "  %s: %d frames in between or at the end are not in the store, without a word why\n", name, n)
		}
		if a.Unreadable > 0 {
			_, _ = fmt.Fprintf(out, "  %s: %d stored messages cannot be read\n", name, a.Unreadable)
		}
		for _, reason := range slices.Sorted(maps.Keys(a.Dropped)) {
			_, _ = fmt.Fprintf(out, "  %s dropped %d: tracker:%s\n", name, a.Dropped[reason], reason)
		}
		if a.LSLDropped > 0 {
			_, _ = fmt.Fprintf(out, "  %s: %d frames are not in the LSL streams, which were slower\n", name, a.LSLDropped)
		}
	}
}

// verdict is an error when nothing came of it.
func (s playedSummary) verdict() error {
	var read, tracked uint64
	for _, a := range s.Cameras {
		read, tracked = read+a.Read, tracked+a.Tracked
	}
	switch {
	case read == 0:
		return fmt.Errorf("session %s has no frames", s.Session)
	case tracked == 0:
		return errors.New("none of the frames was tracked")
	}
	return nil
}

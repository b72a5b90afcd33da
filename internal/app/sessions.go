package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"facetrack/internal/store"
)

// SessionsCmd lists what can be replayed.
type SessionsCmd struct {
	StoredFlags
	Config string `type:"path" help:"Configuration file, for where the rig keeps its data."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// ListedSession is a session as --json prints it.
type ListedSession struct {
	ID       string                   `json:"id"`
	Begin    time.Time                `json:"begin"`
	Seconds  float64                  `json:"seconds"`
	Orderly  bool                     `json:"ended_in_order"` // else it runs, or was killed: faces are not known
	Whole    bool                     `json:"whole"`          // else its beginning was discarded
	Frames   uint64                   `json:"frames"`
	Faces    uint64                   `json:"faces"` // in all frames together
	Bytes    uint64                   `json:"bytes"` // that are still there
	Kinds    []string                 `json:"kinds"`
	Cameras  map[string]store.Account `json:"cameras"`
	Messages uint64                   `json:"messages"`
}

// Run is `facetrack sessions`.
func (c *SessionsCmd) Run(ctx context.Context) error {
	cfg, err := c.configuration(c.Config)
	if err != nil {
		return err
	}
	s, err := openResults(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = s.close() }()
	kept, err := s.Sessions(ctx)
	if err == nil && len(kept) == 0 {
		err = s.explain(store.ErrNothing)
	}
	if err != nil {
		return err
	}
	all := make([]ListedSession, len(kept))
	for i, k := range kept {
		all[i] = listSession(&k)
	}
	if c.JSON {
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", "  ")
		return out.Encode(all)
	}
	return printSessions(os.Stdout, all)
}

func listSession(k *store.Kept) ListedSession {
	l := ListedSession{
		ID: k.ID, Begin: k.Begin, Seconds: k.End.At.Sub(k.Begin).Seconds(), Orderly: k.Over, Whole: k.Whole, Bytes: k.Bytes,
		Kinds: k.Kinds, Cameras: k.End.Cameras, Messages: k.To + 1 - k.From,
	}
	for _, a := range k.End.Cameras {
		l.Frames, l.Faces = l.Frames+a.Frames, l.Faces+a.Faces
	}
	return l
}

func printSessions(out io.Writer, all []ListedSession) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "session\tbegan\tlength\tcameras\tframes\tfaces\tMB\t")
	for _, l := range all {
		faces, remark := fmt.Sprint(l.Faces), ""
		if !l.Orderly {
			faces, remark = "-", "its end is not written down"
		}
		if !l.Whole {
			remark = strings.TrimPrefix(remark+"; its beginning is discarded", "; ")
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%.1f\t%s\n", l.ID, l.Begin.Local().Format(time.DateTime),
			time.Duration(l.Seconds*float64(time.Second)).Round(time.Second), strings.Join(slices.Sorted(maps.Keys(l.Cameras)), " "),
			l.Frames, faces, float64(l.Bytes)/1e6, remark)
	}
	return w.Flush()
}

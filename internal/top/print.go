package top

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// ErrSilent says that no process of the rig answers.
var ErrSilent = errors.New("no process answers")

// Print writes tables where there is no terminal to draw on: of one interval if once is set, else until ctx is done.
func Print(ctx context.Context, out io.Writer, m *Model, w *Watcher, once bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	broken := watch(ctx, w)
	for n := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case failure := <-broken:
			panic(failure)
		case e := <-w.Events:
			m.Hear(e, time.Now())
			continue
		case s := <-w.Samples:
			m.Update(s)
			n++
		}
		silent := m.away != "" || !m.heard
		if once && silent {
			return fmt.Errorf("%w: %s", ErrSilent, m.state())
		}
		if n == 1 && !silent {
			continue // there are rates from the second answer on
		}
		if err := m.Tables(out); err != nil || once {
			return err
		}
	}
}

// Tables writes all that is known as plain text.
func (m *Model) Tables(out io.Writer) error {
	const width = 120
	w := bufio.NewWriter(out)
	put := func(lines ...Line) {
		for _, l := range lines {
			_, _ = fmt.Fprintln(w, strings.TrimRight(l.String(), " "))
		}
	}
	put(m.head()...)
	cameras := m.cameras(byName)
	v := &View{}
	if len(m.procs) > 0 {
		put(Line{})
		put(m.cameraTable(v, cameras, width, len(cameras))...)
		put(Line{})
		put(m.stageTable(v)...)
		put(Line{})
	}
	for _, c := range cameras {
		m.paragraph(w, c.detail())
	}
	for _, p := range m.procs {
		m.paragraph(w, p.detail())
	}
	news := m.news(mostNews)
	slices.Reverse(news)
	put(news...)
	put(Line{})
	return w.Flush()
}

// paragraph writes a first line and what belongs to it.
func (m *Model) paragraph(w io.Writer, lines []string) {
	for i, l := range lines {
		if i > 0 {
			l = "  " + l
		}
		_, _ = fmt.Fprintln(w, l)
	}
}

package top

import (
	"context"
	"fmt"
	"time"

	"github.com/gdamore/tcell/v2"
)

// Show draws the rig on a terminal until ctx is done or the user has had enough. The terminal is left as it was found, whatever happens.
func Show(ctx context.Context, screen tcell.Screen, m *Model, w *Watcher) error {
	if err := screen.Init(); err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	defer screen.Fini()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	broken := watch(ctx, w)
	events := make(chan tcell.Event, 16)
	go screen.ChannelEvents(events, ctx.Done())
	v := &View{}
	for {
		draw(screen, m, v)
		select {
		case <-ctx.Done():
			return nil
		case failure := <-broken:
			panic(failure) // after Fini, so that it can be read
		case s := <-w.Samples:
			m.Update(s)
		case e := <-w.Events:
			m.Hear(e, time.Now())
		case e, open := <-events:
			if !open {
				return nil
			}
			if done, err := v.handle(e, screen); done {
				return err
			}
		}
	}
}

// watch runs the watcher; its panic is the caller's, who knows about the terminal.
func watch(ctx context.Context, w *Watcher) (broken chan any) {
	broken = make(chan any, 1)
	go func() {
		defer func() {
			if failure := recover(); failure != nil {
				broken <- failure
			}
		}()
		w.Run(ctx)
	}()
	return broken
}

// handle does what a key says.
func (v *View) handle(event tcell.Event, screen tcell.Screen) (done bool, err error) {
	switch e := event.(type) {
	case *tcell.EventResize:
		screen.Sync()
	case *tcell.EventError:
		return true, fmt.Errorf("terminal: %w", e)
	case *tcell.EventKey:
		return v.key(e), nil
	}
	return false, nil
}

func (v *View) key(e *tcell.EventKey) (done bool) {
	const page, all = 8, 1 << 20
	switch e.Key() {
	case tcell.KeyCtrlC:
		return true
	case tcell.KeyEscape:
		v.help = false
	case tcell.KeyUp:
		v.Move(-1)
	case tcell.KeyDown:
		v.Move(1)
	case tcell.KeyPgUp:
		v.Move(-page)
	case tcell.KeyPgDn:
		v.Move(page)
	case tcell.KeyHome:
		v.Move(-all)
	case tcell.KeyEnd:
		v.Move(all)
	case tcell.KeyCtrlL: // handled by drawing everything anew
	case tcell.KeyRune:
		return v.letter(e.Rune())
	}
	return false
}

func (v *View) letter(r rune) (done bool) {
	switch r {
	case 'q':
		return true
	case 'j':
		v.Move(1)
	case 'k':
		v.Move(-1)
	case 's':
		v.Sort()
	case 'h', '?':
		v.Help()
	}
	return false
}

// styles use the terminal's own colours, and say nothing by colour alone.
var styles = map[Style]tcell.Style{
	Plain:   tcell.StyleDefault,
	Heading: tcell.StyleDefault.Bold(true).Underline(true),
	Chosen:  tcell.StyleDefault.Reverse(true),
	Warning: tcell.StyleDefault.Foreground(tcell.ColorOlive),
	Bad:     tcell.StyleDefault.Foreground(tcell.ColorMaroon).Bold(true),
	Faint:   tcell.StyleDefault.Dim(true),
}

// draw sends what has changed since it was called last.
func draw(screen tcell.Screen, m *Model, v *View) {
	width, height := screen.Size()
	for y, line := range m.Screen(v, width, height) {
		x := 0
		for _, span := range line {
			for _, r := range span.Text {
				screen.SetContent(x, y, r, nil, styles[span.Style])
				x++
			}
		}
	}
	screen.Show()
}

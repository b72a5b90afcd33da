package ipcbench

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"facetrack/ipc"
)

// under tells how long the window is once the acknowledgements given have been taken in.
func under(t *testing.T, f *flow, most int) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := f.until(ctx, most)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	return err == nil
}

func TestWindowReachesFromTheOldestFrame(t *testing.T) {
	acks := make(chan uint64, 16)
	f := newFlow(acks, 1, 10)
	for range 4 {
		f.sent() // 10 to 13
	}
	acks <- 11
	acks <- 12
	if under(t, f, 3) {
		t.Error("frame 10 was overtaken, and the window moved on")
	}
	acks <- 10
	if !under(t, f, 1) {
		t.Error("10, 11 and 12 are done, and the window is longer than 1")
	}
	acks <- 13
	if !under(t, f, 0) {
		t.Error("every frame is done, and some are under way")
	}
}

func TestEveryReaderHasToAcknowledge(t *testing.T) {
	acks := make(chan uint64, 16)
	f := newFlow(acks, 3, 0)
	f.sent()
	acks <- 0
	acks <- 0
	if under(t, f, 0) {
		t.Error("two of three readers are enough")
	}
	acks <- 0
	if !under(t, f, 0) {
		t.Error("three of three readers are not")
	}
}

func shell(t *testing.T, script string) *child {
	t.Helper()
	c, err := startChild("the other process", []string{"/bin/sh", "-c", script})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestChild(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"answers":        {`read line; echo '{"note":"fine"}'; cat`, ""},
		"says an error":  {`read line; echo '{"error":"no such ring"}'; cat`, "open: no such ring"},
		"talks nonsense": {`read line; echo Traceback; cat`, `says "Traceback`},
		"dies":           {`read line; echo because >&2; exit 3`, "exit status 3): because"},
		"is gone":        {`exec 0<&-; echo early >&2; exit 4`, "exit status 4): early"},
	} {
		a, err := shell(t, c.script).order(context.Background(), order{Op: opOpen})
		if c.want == "" {
			if err != nil || a.Note != "fine" {
				t.Errorf("%s: %v, %+v", name, err, a)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A consumer that dies in the middle of a round ends the run at once.
func TestConsumerThatDies(t *testing.T) {
	o := small(t)
	p, err := newProducer(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	feeds, _, err := p.feeds(o.Formats[0])
	if err != nil {
		t.Fatal(err)
	}
	dead := shell(t, `read line; echo '{}'; echo killed >&2; exit 9`)
	begin := time.Now()
	_, err = (&ownRunner{p, feeds[0], []*child{dead}}).run(context.Background(), p.plan.paced(o.Rate))
	if err == nil || !strings.Contains(err.Error(), "exit status 9): killed") || time.Since(begin) > patience/2 {
		t.Errorf("after %v: %v", time.Since(begin), err)
	}
}

// The second process refuses orders that make no sense, and goes on.
func TestServeRefuses(t *testing.T) {
	var out strings.Builder
	orders := `{"op":"finish"}` + "\n" + `{"op":"round","name":"nothing"}` + "\n" + `{"op":"open"}` + "\n"
	if err := Serve(strings.NewReader(orders), &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), `{"error":"the second process cannot`); n != 3 {
		t.Errorf("%d refusals: %s", n, out.String())
	}
	if err := Serve(strings.NewReader("garbage"), &out); err == nil {
		t.Error("garbage was obeyed")
	}
}

// spoiled is a feeder that changes the last byte of each frame after it was stamped.
type spoiled struct{ *messageFeeder }

func (s spoiled) publish(f *ipc.Frame) error {
	s.pixels[len(s.pixels)-1] ^= 1
	return s.messageFeeder.publish(f)
}

// A single wrong byte in a frame is noticed, whichever kernel was timed on it.
func TestWrongFramesAreNoticed(t *testing.T) {
	wrongFramesAreNoticed(t, small(t))
}

func wrongFramesAreNoticed(t *testing.T, o Options) {
	t.Helper()
	p, err := newProducer(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	feeds, _, err := p.feeds(o.Formats[0])
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.reader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p.readers = append(p.readers, c)
	for _, f := range feeds {
		whole, ok := f.feeder.(*messageFeeder)
		if !ok {
			continue
		}
		f.feeder = spoiled{whole}
		if _, err := f.attach(ctx, c); err != nil {
			t.Fatal(err)
		}
		s := p.plan.paced(o.Rate)
		s.limit = time.Minute
		out, err := (&ownRunner{p, f, p.readers}).run(ctx, s)
		if err != nil || out.Mismatches != s.frames+s.warmUp || len(out.Minimal)+len(out.Whole) > 0 {
			t.Errorf("%d of %d spoiled frames noticed, %v", out.Mismatches, out.Frames, err)
		}
		return
	}
	t.Fatal("no transport by message")
}

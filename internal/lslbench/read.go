package lslbench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"facetrack/internal/latency"
	"facetrack/lsl"
)

// The reading process takes "stream UID PORT CHANNELS" lines up to "ready", subscribes READERS times to each and prints "ready".
// A line "expect N" tells how many samples there are to read; it prints "received SAMPLES ANSWERS P50 P99 MAX" (milliseconds) when it has
// them, or nothing came for a while.

const silence = 3 * time.Second

type reading struct {
	readers  int
	streams  []stream
	received atomic.Int64
	ended    sync.WaitGroup
	mu       sync.Mutex
	delays   *latency.Histogram
}

// Read is the reading process; with asks it also looks for all streams of the host twice a second.
func Read(ctx context.Context, readers int, asks bool, in io.Reader, out io.Writer) error {
	r := &reading{readers: readers, delays: latency.New()}
	lines := bufio.NewScanner(in)
	if err := r.take(lines); err != nil {
		return err
	}
	feeds, err := r.subscribe()
	defer func() {
		for _, f := range feeds {
			_ = f.conn.Close()
		}
	}()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var answers <-chan int
	if asks {
		if answers, err = ask(ctx); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	expected := int64(0)
	if !lines.Scan() {
		return errors.Join(lines.Err(), io.ErrUnexpectedEOF)
	}
	if _, err := fmt.Sscanf(lines.Text(), "expect %d", &expected); err != nil {
		return fmt.Errorf("lslbench: %q: %w", lines.Text(), err)
	}
	r.await(expected)
	cancel()
	for _, f := range feeds {
		_ = f.conn.Close()
	}
	r.ended.Wait()
	n := 0
	if answers != nil {
		n = <-answers
	}
	p := r.delays.Percentiles()
	_, err = fmt.Fprintln(out, "received", r.received.Load(), n, p.P50, p.P99, p.Max)
	return err
}

func (r *reading) take(lines *bufio.Scanner) error {
	for lines.Scan() {
		if lines.Text() == "ready" {
			return nil
		}
		var s stream
		if _, err := fmt.Sscanf(lines.Text(), "stream %s %d %d", &s.uid, &s.port, &s.channels); err != nil {
			return fmt.Errorf("lslbench: %q: %w", lines.Text(), err)
		}
		r.streams = append(r.streams, s)
	}
	return errors.Join(lines.Err(), io.ErrUnexpectedEOF)
}

func (r *reading) subscribe() (feeds []*feed, err error) {
	for _, s := range r.streams {
		for range r.readers {
			f, err := subscribe(s)
			if err != nil {
				return feeds, err
			}
			feeds = append(feeds, f)
			r.ended.Go(func() { r.read(f) })
		}
	}
	return feeds, nil
}

// read counts samples until the connection ends.
func (r *reading) read(f *feed) {
	for {
		stamp, err := f.next()
		if err != nil {
			return
		}
		r.record(time.Duration((lsl.Now() - stamp) * float64(time.Second)))
		r.received.Add(1)
	}
}

// record goes into one histogram for all: hundreds of them would be collected as garbage while they measure.
func (r *reading) record(delay time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delays.Record(delay)
}

// await returns when all is there or nothing comes any more.
func (r *reading) await(expected int64) {
	last, since := int64(-1), time.Now()
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
		n := r.received.Load()
		if n != last {
			last, since = n, time.Now()
		}
		if n >= expected || time.Since(since) > silence {
			tick.Stop()
			return
		}
	}
}

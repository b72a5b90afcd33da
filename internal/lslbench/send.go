package lslbench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"facetrack/lsl"
)

// A sender prints "stream UID PORT CHANNELS" for each outlet and "ready"; a line of input starts it. After its time it prints
// "sent SAMPLES SECONDS CPU_SECONDS FILES" and keeps its outlets until the input ends.

// shortest is the least that a sender sleeps, so that not every participant costs a wake-up.
const shortest = time.Millisecond

type sender struct {
	load    Load
	outlets []*lsl.Outlet
	values  []float32
	sent    int
}

// Send is the sender with this project's outlets.
func Send(ctx context.Context, args []string, in io.Reader, out io.Writer) (err error) {
	load, err := parseLoad(args)
	if err != nil {
		return err
	}
	s := &sender{load: load, values: make([]float32, 64)}
	for i := range s.values {
		s.values[i] = float32(i) / 64
	}
	defer func() {
		for _, o := range s.outlets {
			err = errors.Join(err, o.Close())
		}
	}()
	if err := s.open(ctx, out); err != nil {
		return err
	}
	lines := bufio.NewReader(in)
	if _, err := lines.ReadString('\n'); err != nil {
		return fmt.Errorf("lslbench: nobody says go: %w", err)
	}
	begin, before := time.Now(), usedCPU()
	if err := s.run(begin); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, "sent", s.sent, time.Since(begin).Seconds(), (usedCPU() - before).Seconds(), openFiles()); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, lines)
	return err
}

func (s *sender) open(ctx context.Context, out io.Writer) error {
	for p := range s.load.Participants {
		for _, k := range Kinds {
			o, err := lsl.NewOutlet(ctx, s.load.info(p, k), lsl.Options{LoopbackOnly: true})
			if err != nil {
				return err
			}
			s.outlets = append(s.outlets, o)
			if _, err := fmt.Fprintln(out, "stream", o.UID(), o.TCPPort(), k.Channels); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintln(out, "ready")
	return err
}

// run pushes each participant's samples when they are due.
func (s *sender) run(begin time.Time) error {
	n := s.load.Participants
	for turn := 0; ; {
		due := begin.Add(s.due(turn))
		if due.Sub(begin) >= s.load.Duration {
			return nil
		}
		if wait := time.Until(due); wait > 0 {
			time.Sleep(max(wait, shortest))
			continue
		}
		if err := s.push(turn % n); err != nil {
			return err
		}
		turn++
	}
}

// due is when turn after the begin comes: participants take turns.
func (s *sender) due(turn int) time.Duration {
	n := s.load.Participants
	if s.load.InStep {
		turn -= turn % n
	}
	return time.Duration(float64(turn) / float64(n) / s.load.Rate * float64(time.Second))
}

func (s *sender) push(participant int) error {
	for i, k := range Kinds {
		s.values[0]++
		if err := s.outlets[participant*len(Kinds)+i].Push(lsl.Now(), s.values[:k.Channels]); err != nil {
			return err
		}
		s.sent++
	}
	return nil
}

// usedCPU is the time that this process has computed.
func usedCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package lslbench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// Result is what one run measured.
type Result struct {
	Sender    string  `json:"sender"` // what has the outlets
	Load      Load    `json:"load"`
	Streams   int     `json:"streams"`
	Asked     bool    `json:"asked"` // a reader looked for all streams twice a second
	Seconds   float64 `json:"seconds"`
	CPU       float64 `json:"sender_cpu_percent"` // of one core
	Files     int     `json:"sender_files"`       // descriptors at the end
	Sent      int     `json:"sent"`               // samples, times readers
	Received  int     `json:"received"`
	Lost      int     `json:"lost"`
	Answers   int     `json:"answers"` // to the queries
	DelayMS   Delay   `json:"push_to_reader_ms"`
	PerSample float64 `json:"sender_us_per_sample"` // CPU time
}

// Delay is from a push to the reader having the sample.
type Delay struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Run sends the load from one process to the other. Both speak by lines, as Send and Read do; the last argument says whether the reader asks.
func Run(ctx context.Context, load Load, asked bool, send, read *exec.Cmd) (Result, error) {
	r := Result{Load: load, Streams: load.Streams(), Asked: asked}
	from, err := startPart(send)
	if err != nil {
		return r, err
	}
	defer from.end()
	to, err := startPart(read)
	if err != nil {
		return r, err
	}
	defer to.end()
	if err := connect(from, to); err != nil {
		return r, errors.Join(ctx.Err(), err)
	}
	return r, errors.Join(ctx.Err(), r.measure(from, to))
}

// connect tells the reader of the streams and waits until it reads them all.
func connect(from, to *part) error {
	for line := ""; line != "ready"; {
		var err error
		if line, err = from.line(); err != nil {
			return fmt.Errorf("lslbench: sender: %w", err)
		}
		if err := to.tell(line); err != nil {
			return err
		}
	}
	_, err := to.line()
	return err
}

func (r *Result) measure(from, to *part) error {
	if err := from.tell("go"); err != nil {
		return err
	}
	cpu := 0.0
	line, err := from.line()
	if err != nil {
		return fmt.Errorf("lslbench: sender: %w", err)
	}
	if _, err := fmt.Sscanf(line, "sent %d %g %g %d", &r.Sent, &r.Seconds, &cpu, &r.Files); err != nil {
		return fmt.Errorf("lslbench: sender says %q: %w", line, err)
	}
	r.Sent *= r.Load.Readers
	r.CPU = 100 * cpu / r.Seconds
	r.PerSample = 1e6 * cpu / float64(max(1, r.Sent))
	if err := to.tell(fmt.Sprint("expect ", r.Sent)); err != nil {
		return err
	}
	if line, err = to.line(); err != nil {
		return fmt.Errorf("lslbench: reader: %w", err)
	}
	if _, err := fmt.Sscanf(line, "received %d %d %g %g %g", &r.Received, &r.Answers, &r.DelayMS.P50, &r.DelayMS.P99, &r.DelayMS.Max); err != nil {
		return fmt.Errorf("lslbench: reader says %q: %w", line, err)
	}
	r.Lost = r.Sent - r.Received
	return nil
}

// part is a process that speaks by lines.
type part struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startPart(cmd *exec.Cmd) (*part, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &part{cmd: cmd, in: in, out: bufio.NewReader(out)}, nil
}

func (p *part) line() (string, error) {
	line, err := p.out.ReadString('\n')
	if err != nil {
		return "", err
	}
	return line[:len(line)-1], nil
}

func (p *part) tell(line string) error {
	_, err := fmt.Fprintln(p.in, line)
	return err
}

// end lets the process end by itself, which it does with its input.
func (p *part) end() {
	_ = p.in.Close()
	_, _ = io.Copy(io.Discard, p.out)
	_ = p.cmd.Wait()
}

package gpuring_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"facetrack/gpuring"
	"facetrack/gpuring/ringtest"
)

// puppet is what runs inside a child.
type puppet struct {
	lines  *bufio.Scanner
	out    *json.Encoder
	w      gpuring.Writer
	r      gpuring.Reader
	desc   gpuring.Descriptor
	held   []gpuring.Lease
	frames []gpuring.Ticket // of held
	gpu    devicePuppet
}

func obey() {
	p := &puppet{lines: bufio.NewScanner(os.Stdin), out: json.NewEncoder(os.Stdout)}
	for p.lines.Scan() {
		var cmd command
		if err := json.Unmarshal(p.lines.Bytes(), &cmd); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(2)
		}
		p.say(p.do(cmd))
	}
}

func (p *puppet) say(a answer) {
	if p.out.Encode(a) != nil {
		os.Exit(0) // the parent has gone
	}
}

func (p *puppet) do(cmd command) answer {
	switch cmd.Do {
	case "faults":
		gpuring.Inject(*cmd.Faults)
	case "create":
		return p.create(*cmd.Options)
	case "publish":
		return p.publish()
	case "position":
		p.w.SetPosition(int64(cmd.N))
	case "stats":
		s := p.w.Stats()
		return answer{Stats: &s}
	case "stream":
		p.stream()
	case "churn":
		p.churn(*cmd.Options)
	case "attach":
		cmd.Descriptor.Group = cmd.Group
		return p.attach(*cmd.Descriptor)
	case "hold":
		return p.hold(cmd.Tickets)
	case "check":
		return p.check()
	case "release":
		return p.release()
	case "close":
		return answer{Err: errName(p.r.Close())}
	case "watch":
		return p.watch()
	case "grab":
		p.grab(*cmd.Descriptor, cmd.Tickets)
	case "mount":
		return answer{Err: errName(mount(cmd.Dir, cmd.N))}
	case "list":
		return list(cmd.Dir)
	default:
		return p.doDevice(cmd)
	}
	return answer{}
}

func (p *puppet) create(o gpuring.Options) answer {
	w, err := gpuring.Create(o)
	if err != nil {
		return answer{Err: errName(err)}
	}
	p.w = w
	d := w.Descriptor()
	return answer{Descriptor: &d}
}

func (p *puppet) publish() answer {
	ticket, err := publishPattern(p.w)
	return answer{Ticket: &ticket, Err: errName(err)}
}

// publishPattern writes the next frame straight into its slot.
func publishPattern(w gpuring.Writer) (gpuring.Ticket, error) {
	seq := w.NextSeq()
	claim, err := w.Begin()
	if err != nil {
		return gpuring.Ticket{}, err
	}
	ringtest.Fill(claim.View().Host, seq)
	return claim.Publish(seq)
}

func (p *puppet) attach(d gpuring.Descriptor) answer {
	r, err := gpuring.Open(d, fmt.Sprint("child ", os.Getpid()))
	if err != nil {
		return answer{Err: errName(err)}
	}
	p.r, p.desc = r, d
	return answer{}
}

func (p *puppet) hold(tickets []gpuring.Ticket) answer {
	for _, ticket := range tickets {
		lease, err := p.r.Lease(ticket)
		if err != nil {
			return answer{Err: errName(err)}
		}
		p.held, p.frames = append(p.held, lease), append(p.frames, ticket)
	}
	return p.check()
}

// check looks at the pixels of every lease first and asks whether the leases are valid afterwards, as a stage does.
func (p *puppet) check() (a answer) {
	for i, lease := range p.held {
		a.Torn = a.Torn || !ringtest.Whole(lease.View().Host, p.frames[i].Seq)
		if err := lease.Valid(); err != nil {
			a.Err = errName(err)
		}
	}
	return a
}

func (p *puppet) release() (a answer) {
	for _, lease := range p.held {
		if err := lease.Release(); err != nil {
			a.Err = errName(err)
		}
	}
	p.held, p.frames = nil, nil
	return a
}

// mount puts a tmpfs of so many KiB on a folder, a read-only one for 0.
func mount(dir string, kib int) error {
	flags := uintptr(0)
	if kib == 0 {
		flags, kib = unix.MS_RDONLY, 4
	}
	return unix.Mount("tmpfs", dir, "tmpfs", flags, fmt.Sprintf("size=%dk,mode=1777", kib))
}

func list(dir string) (a answer) {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		a.Names = append(a.Names, entry.Name())
	}
	a.Err = errName(err)
	return a
}

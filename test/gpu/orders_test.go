//go:build cuda

package gpu

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
	"facetrack/internal/kernels"
)

// order is what the test tells a child, one line of JSON on its standard input.
type order struct {
	Do      string // "create", "write", "read", "hold", "stop"
	Dir     string
	Rings   int                  // create: how many
	Shape   gpuring.Geometry     // create
	Upload  bool                 // create: frames are stamped in host memory and uploaded, not stamped by the GPU
	Garbage int                  // create: so many uploads of something else come before that of the frame
	From    []gpuring.Descriptor // read, hold
	Tickets []ticket             // hold
	Copies  bool                 // hold: work with copies that never end, not with looks
	Sync    gpuring.Sync         // read, hold
	Passes  int                  // read, hold: looks at each frame
	PauseNS int                  // read, hold: between two looks
	Readers int                  // create: how many pipes for tickets there are
}

// answer is what a child tells the test, one line of JSON on its standard output.
type answer struct {
	Err         string
	Descriptors []gpuring.Descriptor `json:",omitempty"` // create
	Written     *written             `json:",omitempty"` // write: the sums so far
	Read        *tally               `json:",omitempty"` // read: the sums so far
	Stuck       string               `json:",omitempty"` // read: why the process ends, as the ring demands
	Holding     int                  `json:",omitempty"` // hold: leases with GPU work under way
}

// written is what a writer has done.
type written struct {
	Published, Dropped, Unsent uint64 // frames; tickets that a reader's full pipe did not take
	Revoked                    int    // readers that are revoked now
	Taken                      uint64 // slots taken back from readers that stood still
}

// tally is what became of the frames that a reader got tickets for.
type tally struct {
	Rings                           int // attached now
	Checked, Torn                   uint64
	Stale, Revoked, Refused, Closed uint64
	Reopened                        int // times that it attached anew after it was revoked
}

// puppet is what runs inside a child.
type puppet struct {
	mu   sync.Mutex // of out
	out  *json.Encoder
	gpu  *cuda.Context
	set  *kernels.Set
	sums tally         // of all orders to read
	quit chan struct{} // closed by "stop"; a new one with each order
	done chan struct{} // closed when the order's work has ended
}

// obey carries out orders until the test closes the pipe, and leaves with no GPU work under way.
func obey() {
	p := &puppet{out: json.NewEncoder(os.Stdout)}
	d, err := cuda.SelectDevice("auto")
	if err == nil {
		p.gpu, err = cuda.Open(d)
	}
	if err == nil {
		p.set, err = kernels.Load(p.gpu)
	}
	p.say(answer{Err: text(err)})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	w := &writer{puppet: p}
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			p.say(answer{Err: err.Error()})
			continue
		}
		p.stop()
		switch o.Do {
		case "create":
			p.say(w.create(o))
		case "write":
			p.begin(w.write)
		case "read":
			p.begin(func() { p.read(o) })
		case "hold":
			p.say(p.hold(o))
		}
	}
	p.stop()
	if p.gpu != nil {
		_ = p.gpu.Synchronize() // nobody is left to be told
	}
}

// begin starts work that ends when p.quit is closed.
func (p *puppet) begin(work func()) {
	p.quit, p.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(p.done)
		work()
	}()
}

func (p *puppet) stop() {
	if p.quit != nil {
		close(p.quit)
		<-p.done
		p.quit = nil
	}
}

func (p *puppet) stopped() bool {
	select {
	case <-p.quit:
		return true
	default:
		return false
	}
}

func (p *puppet) say(a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out.Encode(a) != nil {
		os.Exit(0) // the test has gone
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprint(err)
}

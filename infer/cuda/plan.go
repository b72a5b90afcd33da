package gpu

import (
	"fmt"
	"math"

	"facetrack/infer"
	"facetrack/internal/cuda"
	"facetrack/internal/kernels/nn"
)

// plan is a network as launches over buffers. It does not change once it is made, and is for any batch size.
type plan struct {
	precision nn.Precision
	buffers   []buffer
	steps     []step
	in, out   []ref // dense
}

// buffer is the memory of a value for every item of a batch, or a constant.
type buffer struct {
	len         int // elements of one item
	precision   nn.Precision
	first, last int                               // steps that write or read it
	constant    func(set *nn.Set) ([]byte, error) // makes what lies there; nil for values
}

// ref is where a step finds something: a buffer, from an element on. The next item is a whole buffer further, except of constants.
type ref struct{ buffer, offset int }

// step is one launch.
type step struct {
	kind string // "conv", "copy", …
	name string // of the operator
	run  func(r *run) error
}

// run is what a step needs to know of a run.
type run struct {
	set       *nn.Set
	stream    *cuda.Stream
	batch     int
	addresses []uint64 // of the buffers
	plan      *plan
}

// at is the address of a ref in item 0.
func (r *run) at(x ref) uint64 {
	return r.addresses[x.buffer] + uint64(x.offset*r.plan.buffers[x.buffer].precision.Bytes())
}

// launch queues all steps.
func (r *run) launch() error {
	for i := range r.plan.steps {
		if err := r.plan.steps[i].run(r); err != nil {
			return fmt.Errorf("%s: %w", &r.plan.steps[i], err)
		}
	}
	return nil
}

func (s *step) String() string { return fmt.Sprintf("%s %q", s.kind, s.name) }

// planner makes a plan of a program.
type planner struct {
	*program
	plan      *plan
	places    []place
	kept      []nn.Precision        // of values
	buffer    map[infer.ValueID]int // of roots
	converted map[infer.ValueID]int // copies of roots in the other precision
	constants map[constantKey]int   // buffers of operands
}

type constantKey struct {
	id        infer.ValueID
	precision nn.Precision
}

// forever is later than any step.
const forever = math.MaxInt

// newPlan fuses a valid graph and makes steps of it, for a device whose thread blocks can have so many bytes of shared memory.
func newPlan(g *infer.Graph, precision nn.Precision, shared int) (*plan, error) {
	p := newProgram(g)
	p.fuse()
	l := &planner{
		program: p, plan: &plan{precision: precision}, places: p.places(),
		buffer: map[infer.ValueID]int{}, converted: map[infer.ValueID]int{}, constants: map[constantKey]int{},
	}
	l.kept = p.precisions(l.places, precision)
	for _, id := range p.in {
		l.plan.in = append(l.plan.in, l.lasting(id))
	}
	for _, id := range p.out {
		l.plan.out = append(l.plan.out, l.lasting(id))
	}
	var chains map[int]*chain
	if precision == nn.F16 {
		chains = p.chains(shared)
	}
	for i := range p.ops {
		if err := l.lowerAt(i, chains[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", &p.ops[i], err)
		}
	}
	return l.plan, nil
}

// lasting is an input or output of the network: its memory is never used for anything else.
func (l *planner) lasting(id infer.ValueID) ref {
	x := l.home(id)
	b := &l.plan.buffers[x.buffer]
	b.first, b.last = 0, forever
	return x
}

// home is where a value is kept.
func (l *planner) home(id infer.ValueID) ref {
	at := l.places[id]
	k, ok := l.buffer[at.root]
	if !ok {
		k = l.newBuffer(buffer{len: l.len(at.root), precision: l.kept[at.root]})
		l.buffer[at.root] = k
	}
	return ref{k, at.offset}
}

func (l *planner) newBuffer(b buffer) int {
	b.first = len(l.plan.steps)
	b.last = b.first
	l.plan.buffers = append(l.plan.buffers, b)
	return len(l.plan.buffers) - 1
}

// constant is a buffer that is filled once.
func (l *planner) constant(make func(set *nn.Set) ([]byte, error)) ref {
	return ref{l.newBuffer(buffer{constant: make}), 0}
}

// add appends a step that uses some buffers.
func (l *planner) add(o *op, kind string, run func(r *run) error, uses ...ref) {
	for _, x := range uses {
		b := &l.plan.buffers[x.buffer]
		b.last = max(b.last, len(l.plan.steps))
	}
	l.plan.steps = append(l.plan.steps, step{kind, o.Name, run})
}

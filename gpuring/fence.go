package gpuring

import (
	"errors"
	"fmt"
	"sync"

	"facetrack/internal/cuda"
)

// Fence makes streams wait for one leased frame in device memory.
type Fence struct {
	set        *fences
	slot       int
	generation uint64

	// guarded by set.mu
	done   bool
	failed bool
	waits  []wait
}

// wait is one stream's wait: how it was queued, and the word into which the stream brings the proof behind it.
type wait struct {
	how   waitHow
	proof proofWord
}

// waitHow is how a stream waits for a frame.
type waitHow int

const (
	waitNot     waitHow = iota // it was there already
	waitEvent                  // cuStreamWaitEvent, always
	waitSoft                   // nothing when the event is over, else cuStreamWaitEvent
	waitGuarded                // nothing when the event is over, else the ready word
	waitWord                   // the ready word, always
)

// Wait makes s wait until the frame is there; the host goes on at once. It may be called for several streams, before
// each queues work that reads the pixels. When it fails, ErrDevice or, after Release, ErrReleased, queue no such work. A nil
// Fence has nothing to wait for.
func (f *Fence) Wait(s *cuda.Stream) error {
	if f == nil {
		return nil
	}
	proof, err := f.set.begin(f)
	if err != nil {
		return err
	}
	how, err := f.set.queueWait(s, f)
	if err == nil && !f.set.faults.NoProof {
		err = s.Download(proof.bytes, f.set.mem.ready(f.slot))
	}
	f.set.queued(f, wait{how, proof}, err)
	if err != nil {
		return deviceError(fmt.Sprintf("wait for slot %d", f.slot), err)
	}
	return nil
}

// fences are those of one reader.
type fences struct {
	mem    *deviceMem
	how    waitHow
	bench  *workbench
	faults faults
	gone   func() bool // asks whether the writer has ended

	mu    sync.Mutex // held during no driver call but the growth of words
	words *proofWords
	open  map[*Fence]struct{}
}

func newFences(gpu *cuda.Context, mem *deviceMem, how waitHow) (*fences, error) {
	bench, err := joinWorkbench(gpu)
	if err != nil {
		return nil, err
	}
	words, err := newProofWords(gpu)
	if err != nil {
		return nil, errors.Join(deviceError("take page-locked memory", err), bench.leave())
	}
	return &fences{mem: mem, how: how, bench: bench, faults: injectedNow(), words: words, open: map[*Fence]struct{}{}}, nil
}

func (s *fences) fence(slot int, generation uint64) *Fence {
	f := &Fence{set: s, slot: slot, generation: generation}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[f] = struct{}{}
	return f
}

func (s *fences) begin(f *Fence) (proofWord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.done {
		return proofWord{}, fmt.Errorf("%w: the lease of slot %d has ended", ErrReleased, f.slot)
	}
	return s.words.take()
}

func (s *fences) queueWait(st *cuda.Stream, f *Fence) (waitHow, error) {
	how := s.how
	if how == waitSoft || how == waitGuarded {
		over, err := s.mem.events[f.slot].Done()
		if err != nil || over {
			return waitNot, err
		}
	}
	if how == waitGuarded || how == waitWord {
		return waitWord, st.WaitGEQ64(s.mem.ready(f.slot), f.generation)
	}
	return waitEvent, st.Wait(s.mem.events[f.slot])
}

func (s *fences) queued(f *Fence, w wait, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.waits = append(f.waits, w)
	f.failed = f.failed || err != nil
}

// settle ends a fence and looks at its proofs.
func (s *fences) settle(f *Fence) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.done = true
	delete(s.open, f)
	torn := f.failed
	for _, w := range f.waits {
		torn = w.proof.value() != f.generation || torn
		s.words.giveBack(w.proof)
	}
	if torn && !s.faults.NoProof && !s.faults.NoLeases {
		return fmt.Errorf("%w: slot %d: it was not there when its work began, or the work was not waited for", ErrTorn, f.slot)
	}
	return nil
}

// waiting returns the frames for which a stream waits in the given way, as far as the proofs tell.
func (s *fences) waiting(how waitHow) (list []*Fence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for f := range s.open {
		for _, w := range f.waits {
			if w.how == how && w.proof.value() == unproved {
				list = append(list, f)
				break
			}
		}
	}
	return list
}

func (s *fences) close() error {
	s.bench.unwatch(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.words.close(), s.bench.leave())
}

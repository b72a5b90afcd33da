package gpuring

import (
	"errors"
	"fmt"
	"sync"

	"facetrack/internal/cuda"
	"facetrack/internal/fault"
)

// prover writes challenges on a stream of its own, so that no frame waits for them.
type prover struct {
	mu     sync.Mutex
	mem    *deviceMem
	words  *readyWords
	stream *cuda.Stream
	cells  *cuda.Pinned // what is uploaded
	next   int
	closed bool
}

func newProver(gpu *cuda.Context, mem *deviceMem) (p *prover, err error) {
	p = &prover{mem: mem}
	if p.stream, err = gpu.NewStream(); err == nil {
		p.cells, err = gpu.AllocPinned(proofCells * cellBytes)
	}
	if err == nil {
		p.words, err = newReadyWords(gpu, mem)
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// prove brings a challenge into the next cell and returns when it is there.
func (p *prover) prove(challenge [cellBytes]byte) (cell int, err error) {
	if challenge == [cellBytes]byte{} {
		return 0, fmt.Errorf("%w: a challenge of zeros proves nothing", ErrOptions)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, ErrClosed
	}
	cell = p.next
	p.next = (p.next + 1) % proofCells
	from := p.cells.Bytes()[cell*cellBytes : (cell+1)*cellBytes]
	copy(from, challenge[:])
	if err = p.stream.Upload(p.mem.cell(cell), from); err == nil {
		err = p.words.write(p.stream, p.mem.slots+cell, 1)
	}
	if err == nil {
		err = p.stream.Record(p.mem.proofEvent())
	}
	if err == nil {
		err = finish(p.stream)
	}
	if err != nil {
		return 0, deviceError("write a proof", err)
	}
	return cell, nil
}

func (p *prover) close() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return errors.Join(p.stream.Close(), p.cells.Close(), p.words.close())
}

func (w *deviceWriter) WriteProof(challenge [cellBytes]byte) (int, error) {
	return w.staged.proofs.prove(challenge)
}

func (r *deviceReader) Prove(cell int, challenge [cellBytes]byte) error {
	if cell < 0 || cell >= proofCells {
		return fmt.Errorf("%w: proof cell %d: a ring has %d", ErrOptions, cell, proofCells)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.gone.Load() {
		return fmt.Errorf("%w: %s", ErrClosed, r.id)
	}
	content, err := r.fences.readProof(cell)
	if err != nil {
		return deviceError("read a proof", err)
	}
	switch fault.At("canary") {
	case "zeros":
		content = [cellBytes]byte{}
	case "stale":
		content[0]++
	}
	switch content {
	case challenge:
		return nil
	case [cellBytes]byte{}:
		return fmt.Errorf("%w: cell %d", ErrZeros, cell)
	}
	return fmt.Errorf("%w: cell %d holds other bytes than the writer was asked to write", ErrCanary, cell)
}

// readProof waits for the cell as streams wait for frames, and reads it with a kernel. It queues no wait that might not end.
func (f *fences) readProof(cell int) (content [cellBytes]byte, err error) {
	b := f.bench
	b.mu.Lock()
	defer b.mu.Unlock()
	if event := f.mem.proofEvent(); event != nil && f.how != waitWord {
		if err := poll(event.Done, patience); err != nil {
			return content, fmt.Errorf("the writer's event: %w", err)
		}
		if err := b.stream.Wait(event); err != nil {
			return content, err
		}
	}
	if f.how == waitWord || f.how == waitGuarded {
		word, err := b.readWords([]uint64{f.mem.proofReady(cell)})
		if err == nil && word[0] != 0 { // else the cell itself tells what is wrong
			err = b.stream.WaitGEQ64(f.mem.proofReady(cell), 1)
		}
		if err != nil {
			return content, fmt.Errorf("the writer's ready word: %w", err)
		}
	}
	return b.readCell(f.mem.cell(cell))
}

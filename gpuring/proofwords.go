package gpuring

import (
	"errors"
	"sync/atomic"

	"facetrack/gpuring/internal/shm"
	"facetrack/internal/cuda"
)

// unproved is what a proof word holds before a stream has come past its wait: no generation.
const unproved = ^uint64(0)

// proofWord is 8 bytes of page-locked memory that a stream fills in.
type proofWord struct {
	word  *atomic.Uint64
	bytes []byte
}

func (p proofWord) value() uint64 { return p.word.Load() }

// proofWords is a pool; it grows while more are in use than ever before.
type proofWords struct {
	gpu    *cuda.Context
	blocks []*cuda.Pinned
	free   []proofWord
	late   []proofWord // given back before their stream came past: it may write yet
}

func newProofWords(gpu *cuda.Context) (*proofWords, error) {
	p := &proofWords{gpu: gpu}
	return p, p.grow()
}

func (p *proofWords) grow() error {
	block, err := p.gpu.AllocPinned(page)
	if err != nil {
		return err
	}
	p.blocks = append(p.blocks, block)
	words := shm.Words(block.Bytes())
	for i := range words {
		p.free = append(p.free, proofWord{&words[i], block.Bytes()[8*i : 8*i+8]})
	}
	return nil
}

func (p *proofWords) take() (proofWord, error) {
	if len(p.free) == 0 {
		p.sort()
	}
	if len(p.free) == 0 {
		if err := p.grow(); err != nil {
			return proofWord{}, deviceError("take page-locked memory", err)
		}
	}
	last := len(p.free) - 1
	word := p.free[last]
	p.free = p.free[:last]
	word.word.Store(unproved)
	return word, nil
}

func (p *proofWords) giveBack(w proofWord) {
	if w.value() == unproved {
		p.late = append(p.late, w)
	} else {
		p.free = append(p.free, w)
	}
}

// sort looks which late words have been written meanwhile.
func (p *proofWords) sort() {
	late := p.late
	p.late = nil
	for _, w := range late {
		p.giveBack(w)
	}
}

// close frees the pool, unless a stream may write to it yet: then it stays until the process ends.
func (p *proofWords) close() error {
	if p.sort(); len(p.late) > 0 {
		return nil
	}
	var all []error
	for _, b := range p.blocks {
		all = append(all, b.Close())
	}
	p.blocks, p.free = nil, nil
	return errors.Join(all...)
}

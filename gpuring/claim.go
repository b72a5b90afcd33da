package gpuring

import (
	"errors"
	"fmt"
)

type claim struct {
	w    *ringWriter
	slot int
	odd  uint64 // the slot's generation while it is written
	view View
	done bool // guarded by w.mu
}

func (cl *claim) View() View { return cl.view }

func (cl *claim) Publish(seq uint64) (Ticket, error) {
	w := cl.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if cl.done {
		return Ticket{}, fmt.Errorf("%w: the claim of slot %d has ended", ErrReleased, cl.slot)
	}
	if w.retired {
		return Ticket{}, errors.Join(fmt.Errorf("%w: %s", ErrClosed, w.desc.Ring), cl.end())
	}
	if w.staged != nil {
		if err := w.staged.upload(cl.slot, nextGeneration(cl.odd), seq); err != nil {
			return Ticket{}, errors.Join(err, cl.giveBack(), cl.end())
		}
	}
	generation, err := w.c.finish(cl.slot, cl.odd, seq, w.c.word(hOrder).Add(1))
	if err != nil {
		return Ticket{}, errors.Join(err, cl.end())
	}
	w.c.word(hPublished).Add(1)
	if next := w.c.word(hPublishedNext); next.Load() <= seq {
		next.Store(seq + 1)
	}
	return Ticket{RingID: w.desc.Ring, Slot: cl.slot, Generation: generation, Seq: seq}, cl.end()
}

func (cl *claim) Abort() {
	w := cl.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if cl.done {
		return
	}
	if !w.closed {
		if err := cl.giveBack(); err != nil {
			w.log.Error("claim not given back", "slot", cl.slot, "error", err)
		}
	}
	if err := cl.end(); err != nil {
		w.log.Error("pixels not unmapped", "error", err)
	}
}

// giveBack frees the slot without a frame in it.
func (cl *claim) giveBack() error {
	cl.w.c.word(hAborted).Add(1)
	_, err := cl.w.c.finish(cl.slot, cl.odd, 0, 0)
	return err
}

// end closes the pixels after the last claim of a closed writer.
func (cl *claim) end() error {
	cl.done = true
	cl.w.claims--
	if cl.w.released && cl.w.claims == 0 {
		err := cl.w.pix.Close()
		cl.w.kept = errors.Is(err, ErrUploading)
		return err
	}
	return nil
}

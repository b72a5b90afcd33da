package infer

import "fmt"

// CheckHost checks what a caller hands to Run of a backend that works in host memory: the batch size, and that every
// buffer is host memory of exactly batch × Info.Len() elements. It returns ErrBadInput.
func CheckHost(batch, maxBatch int, infos []Info, buffers []Buffer) error {
	if batch < 1 || batch > max(maxBatch, 1) {
		return fmt.Errorf("%w: batch of %d; this session takes 1 to %d", ErrBadInput, batch, max(maxBatch, 1))
	}
	if len(buffers) != len(infos) {
		return fmt.Errorf("%w: %d buffers for %d tensors", ErrBadInput, len(buffers), len(infos))
	}
	for i, b := range buffers {
		if b.Device != 0 {
			return fmt.Errorf("%w: %q is in device memory; this backend needs host memory", ErrBadInput, infos[i].Name)
		}
		if want := batch * infos[i].Len(); len(b.Host) != want {
			return fmt.Errorf("%w: %q holds %d elements; a batch of %d needs %d", ErrBadInput, infos[i].Name, len(b.Host), batch, want)
		}
	}
	return nil
}

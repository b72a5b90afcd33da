package doctor

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// lockedMemory lets the driver page-lock memory of the ring folder, as capture does with its rings. NVIDIA's driver is not
// known to count that towards RLIMIT_MEMLOCK, so only the trial tells.
func (d *doctor) lockedMemory() Check {
	const trial = 16 * mib // more than the usual limit
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		return warn("the limit of locked memory cannot be read: "+err.Error(), "leave the sandbox that forbids getrlimit")
	}
	text := "no limit"
	if limit.Cur != unix.RLIM_INFINITY {
		text = fmt.Sprintf("a limit of %d KiB", limit.Cur>>10)
	}
	if d.gpu == nil {
		return skipped(text + "; nothing is page-locked without a GPU")
	}
	_, need := d.need()
	text = fmt.Sprintf("%s; the rings need up to %d MiB", text, (need+mib-1)/mib)
	if err := d.tryLocked(trial); err != nil {
		return fail(fmt.Sprintf("the driver cannot page-lock %d MiB of %s (%s): %v", trial/mib, d.dir(), text, err), cureOf(err))
	}
	seen := fmt.Sprintf("the driver has page-locked %d MiB of %s (%s)", trial/mib, d.dir(), text)
	if limit.Cur < trial {
		seen += ", so that the limit does not bind it"
	}
	return ok(seen)
}

func (d *doctor) tryLocked(bytes int) (err error) {
	f, err := d.scratch()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := unix.Fallocate(int(f.Fd()), 0, 0, int64(bytes)); err != nil {
		return fmt.Errorf("%d MiB in %s: %w", bytes/mib, d.dir(), err)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Munmap(mem)) }()
	locked, err := d.gpu.Register(mem)
	if err != nil {
		return err
	}
	return locked.Close()
}

// Package awake keeps the CPUs of a machine from sleeping between frames.
//
// A CPU without work sleeps, and takes its time to wake: some microseconds on bare metal, 100 µs and more in a virtual
// machine, whose host has to run it again. A frame that passes three processes pays that several times. One thread for each CPU
// that spins in the class SCHED_IDLE prevents it: anything else that wants the CPU gets it at once. The price is power, and
// that every CPU looks busy.
package awake

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"
)

// Run spins until in ends, in a process that does nothing else: its threads can be held up for any time, and with them a garbage
// collection.
func Run(in io.Reader) error {
	debug.SetGCPercent(-1)
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return fmt.Errorf("awake: CPUs of this process: %w", err)
	}
	runtime.GOMAXPROCS(allowed.Count() + 1)
	failed := make(chan error, allowed.Count())
	for cpu := range 8 * len(allowed) * 8 {
		if allowed.IsSet(cpu) {
			go func() { failed <- spin(cpu) }()
		}
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, in) // whoever started this process is gone
		close(ended)
	}()
	select {
	case err := <-failed:
		return err
	case <-ended:
		return nil
	}
}

// spin keeps one CPU awake, and returns only when it may not.
func spin(cpu int) error {
	runtime.LockOSThread()
	var one unix.CPUSet
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return fmt.Errorf("awake: move to CPU %d: %w", cpu, err)
	}
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0); err != nil {
		return fmt.Errorf("awake: become idle work: %w", err)
	}
	for turn := 0; ; turn++ {
		runtime.KeepAlive(turn)
	}
}

// Keeper is the process that spins.
type Keeper struct {
	cmd  *exec.Cmd
	in   io.Closer
	once sync.Once
	err  error
}

// Start runs a command that calls Run with its standard input.
func Start(command ...string) (*Keeper, error) {
	k := &Keeper{cmd: exec.Command(command[0], command[1:]...)} //nolint:gosec // this program
	k.cmd.Stderr = os.Stderr
	in, err := k.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("awake: %w", err)
	}
	k.in = in
	if err := k.cmd.Start(); err != nil {
		return nil, fmt.Errorf("awake: %w", err)
	}
	return k, nil
}

// Close lets the CPUs sleep again.
func (k *Keeper) Close() error {
	if k == nil {
		return nil
	}
	k.once.Do(func() {
		_ = k.in.Close()
		k.err = k.cmd.Wait()
	})
	return k.err
}

//go:build e2e && gpu

package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"facetrack/internal/cuda"
	"facetrack/internal/kernels"
	"facetrack/internal/nvml"
)

// On a machine with a GPU every rig uses it.
const (
	processLink = "cuda-ipc" // transport between processes
	threadLink  = "cuda"     // … and between the threads of one
)

// attempts is how often a rig may run until it is not disturbed by a busy machine.
const attempts = 1

// backInFlow is how long a killed process may take until frames are through it again.
const backInFlow = 2 * time.Second

// withGPU gives the rig's processes a GPU; here they have one.
func (r *rig) withGPU() *rig { return r }

// canLoseTheGPU starts a process whose kernels run. Under MPS its death makes all processes of the rig lose their contexts.
func (r *rig) canLoseTheGPU() (lose func()) {
	r.t.Helper()
	if m := nvml.FindMPS(); !m.Running {
		r.t.Skipf("SKIPPED: only under MPS do others lose their contexts (%s): scripts/gpu-check.sh mps", m.Reason)
	}
	doomed := exec.Command(os.Args[0]) //nolint:gosec // this program
	doomed.Env, doomed.Stderr = append(os.Environ(), doomedVariable+"=1"), os.Stderr
	out, err := doomed.StdoutPipe()
	if err == nil {
		err = doomed.Start()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	kill := func() {
		_ = doomed.Process.Kill()
		_ = doomed.Wait()
	}
	r.t.Cleanup(kill)
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		r.t.Fatalf("the process that is to be killed has no kernel running: %v", err)
	}
	return kill
}

const doomedVariable = "FACETRACK_E2E_DOOMED"

func init() {
	if os.Getenv(doomedVariable) != "" {
		fmt.Fprintln(os.Stderr, runKernels())
		os.Exit(1)
	}
}

// runKernels runs kernels until the process is killed, and says so in a line of its output.
func runKernels() error {
	const rowBytes, rows, passes, pauseNS = 256, 16, 20, 50_000_000 // a second
	d, err := cuda.SelectDevice("auto")
	if err != nil {
		return err
	}
	gpu, err := cuda.Open(d)
	if err != nil {
		return err
	}
	set, errSet := kernels.Load(gpu)
	stream, errStream := gpu.NewStream()
	memory, errMemory := gpu.Alloc(rowBytes*rows + 64)
	if err := errors.Join(errSet, errStream, errMemory); err != nil {
		return err
	}
	look := func(passes int) error {
		return set.Check(stream, memory.Address(), rowBytes, rows, 0, memory.Address()+rowBytes*rows, passes, pauseNS)
	}
	if err := errors.Join(look(1), stream.Synchronize(), look(passes)); err != nil {
		return err
	}
	fmt.Println("busy")
	for {
		if err := errors.Join(look(passes), stream.Synchronize()); err != nil {
			return err
		}
	}
}

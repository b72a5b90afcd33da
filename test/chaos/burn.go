package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
)

// burnVariable makes this program one that uses CPUs up: its value is how many threads do.
const burnVariable = "FACETRACK_CHAOS_BURN"

// burn uses CPUs up until it is killed.
func burn(threads string) error {
	n, err := strconv.Atoi(threads)
	if err != nil {
		return fmt.Errorf("%s: %w", burnVariable, err)
	}
	runtime.GOMAXPROCS(n)
	for range n - 1 {
		go spin()
	}
	spin()
	return nil
}

func spin() {
	for i := uint64(1); ; i++ {
		if i == 0 {
			return
		}
	}
}

// starve takes the CPUs away, with a higher priority than the rig has, until the returned function is called.
func starve() (end func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("nice", "-n", "-5", self) //nolint:gosec // this program; where that priority is not allowed, at the usual one
	cmd.Env = append(os.Environ(), burnVariable+"="+strconv.Itoa(2*runtime.NumCPU()))
	gone, err := spawn(cmd)
	if err != nil {
		return nil, err
	}
	return func() {
		_ = cmd.Process.Kill()
		<-gone //nolint:errcheck // it was killed
	}, nil
}

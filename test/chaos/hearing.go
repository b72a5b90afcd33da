package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
)

// hearing keeps a witness at work, another one when it is killed, and what they have said.
type hearing struct {
	url, rig string
	over     sync.WaitGroup

	mu     sync.Mutex
	cmd    *exec.Cmd // nil while there is none
	said   Testimony // of those before
	last   Testimony // of this one
	closed bool
	err    error
}

const witnessProcess = "witness"

func newHearing(url, rig string) (*hearing, error) {
	h := &hearing{url: url, rig: rig}
	end, out, err := h.call()
	if err != nil {
		return nil, err
	}
	h.over.Go(func() { h.listen(end, out) })
	return h, nil
}

// call starts a witness.
func (h *hearing) call() (end chan error, out io.ReadCloser, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(self) //nolint:gosec // this program
	cmd.Env = append(os.Environ(), witnessVariable+"="+h.url+" "+h.rig)
	cmd.Stdout, cmd.Stderr = in, os.Stderr
	end, err = spawn(cmd)
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, nil, errors.Join(err, out.Close())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cmd = cmd
	if h.closed {
		_ = cmd.Process.Kill()
	}
	return end, out, nil
}

func (h *hearing) listen(end chan error, out io.ReadCloser) {
	for {
		for lines := json.NewDecoder(out); ; {
			var t Testimony
			if lines.Decode(&t) != nil {
				break
			}
			h.mu.Lock()
			h.last = t
			h.mu.Unlock()
		}
		<-end //nolint:errcheck // it was killed
		_ = out.Close()
		h.mu.Lock()
		h.said.add(h.last)
		h.last, h.cmd = Testimony{}, nil
		closed := h.closed
		h.mu.Unlock()
		if closed {
			return
		}
		var err error
		if end, out, err = h.call(); err != nil {
			h.mu.Lock()
			h.err = err
			h.mu.Unlock()
			return
		}
	}
}

func (h *hearing) pid() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cmd == nil {
		return 0
	}
	return h.cmd.Process.Pid
}

// close ends it and returns all that was said.
func (h *hearing) close() (Testimony, error) {
	h.mu.Lock()
	h.closed = true
	if h.cmd != nil {
		_ = h.cmd.Process.Kill()
	}
	h.mu.Unlock()
	h.over.Wait()
	return h.said, h.err
}

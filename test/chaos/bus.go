package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// busVariable makes this program a NATS server: its value is the port, and the folder of the server's data after a space.
const busVariable = "FACETRACK_CHAOS_BUS"

// serveBus is the NATS server's process. It ends with a signal alone.
func serveBus(what string) error {
	port, err := strconv.Atoi(what[:max(0, indexSpace(what))])
	if err != nil {
		return fmt.Errorf("%s=%q: %w", busVariable, what, err)
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "chaos", Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: what[indexSpace(what)+1:], MaxPayload: 1 << 20, Logtime: true,
	})
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	s.Start()
	s.WaitForShutdown()
	return nil
}

func indexSpace(s string) int {
	for i := range len(s) {
		if s[i] == ' ' {
			return i
		}
	}
	return 0
}

// bus is the NATS server as a process that can be killed and stopped.
type bus struct {
	port int
	dir  string
	log  string // file
	cmd  *exec.Cmd
	end  chan error
}

func (b *bus) url() string { return fmt.Sprintf("nats://127.0.0.1:%d", b.port) }

func (b *bus) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(b.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	cmd := exec.Command(self) //nolint:gosec // this program
	cmd.Env = append(os.Environ(), busVariable+"="+strconv.Itoa(b.port)+" "+b.dir)
	cmd.Stdout, cmd.Stderr = out, out
	end, err := spawn(cmd)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	b.cmd, b.end = cmd, end
	return nil
}

func (b *bus) signal(s syscall.Signal) error { return b.cmd.Process.Signal(s) }

// kill ends the server and returns when it is gone.
func (b *bus) kill() error {
	if b.cmd == nil {
		return nil
	}
	err := b.signal(syscall.SIGKILL)
	<-b.end //nolint:errcheck // it was killed
	b.cmd = nil
	return err
}

// ready waits until the server takes connections.
func (b *bus) ready(within time.Duration) error {
	for end := time.Now().Add(within); ; {
		conn, err := dialTCP(b.port)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(end) {
			return fmt.Errorf("the NATS server does not start: %w", err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

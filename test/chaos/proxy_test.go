package main

import (
	"bufio"
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

const patience = 20 * time.Second

// echo is a server that sends lines back.
func echo(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				for r := bufio.NewReader(c); ; {
					line, err := r.ReadString('\n')
					if err != nil {
						_ = c.Close()
						return
					}
					_, _ = c.Write([]byte(line))
				}
			}()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // it is one
}

type caller struct {
	net.Conn
	r *bufio.Reader
}

func call(t *testing.T, port int) *caller {
	t.Helper()
	c, err := dialTCP(port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &caller{c, bufio.NewReader(c)}
}

func (c *caller) trip(wait time.Duration) error {
	if err := c.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("hello\n")); err != nil {
		return err
	}
	_, err := c.r.ReadString('\n')
	return err
}

func TestProxyCutsAndStalls(t *testing.T) {
	port, err := freePort(23000)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProxy(port, echo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	c := call(t, port)
	if err := c.trip(patience); err != nil {
		t.Fatal(err)
	}
	mend := p.hold()
	if err := c.trip(50 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("while nothing passes: %v", err)
	}
	mend()
	if err := c.trip(patience); err != nil {
		t.Fatalf("after a stall: %v", err)
	}
	if _, err := c.r.ReadString('\n'); err != nil {
		t.Fatalf("what was sent in a stall does not arrive: %v", err)
	}
	mend = p.cut()
	if err := c.trip(patience); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("after a cut: %v", err)
	}
	if err := call(t, port).trip(patience); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("during a cut: %v", err)
	}
	mend()
	a, b := call(t, port), call(t, port)
	if err := errors.Join(a.trip(patience), b.trip(patience)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the others are gone", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.open) == 2
	})
	p.reset(0)
	if one, other := a.trip(patience), b.trip(patience); (one == nil) == (other == nil) {
		t.Errorf("a reset ends one connection: %v, %v", one, other)
	}
}

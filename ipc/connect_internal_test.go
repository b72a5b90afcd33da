package ipc

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

func TestSlownessIsToldOnceASecond(t *testing.T) {
	var text bytes.Buffer
	c, log, begin := &Conn{}, slog.New(slog.NewTextHandler(&text, nil)), time.Now()
	for i := range 1000 {
		c.tooSlow(log, "face.lab.>", begin.Add(time.Duration(i)*2500*time.Microsecond))
	}
	if lines := strings.Count(text.String(), "\n"); lines != 3 || c.SlowConsumers() != 1000 || !strings.Contains(text.String(), "times=801") {
		t.Errorf("%d lines, %d times:\n%s", lines, c.SlowConsumers(), text.String())
	}
}

// Connections that were accepted and never greeted are not kept open.
func TestDialerKeepsOneConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	var d dialer
	first, err := d.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	second, err := d.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the first one is open: %v", err)
	}
	if _, err := second.Write([]byte("x")); err != nil {
		t.Errorf("the second one: %v", err)
	}
	_ = second.Close()
}

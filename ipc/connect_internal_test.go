package ipc

import (
	"bytes"
	"log/slog"
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

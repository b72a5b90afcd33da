package app

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"facetrack/internal/auth"
)

// busLog passes on what the embedded server says of refusals, with roles for keys; the rest stays unsaid.
type busLog struct {
	log              *slog.Logger
	guard            *auth.Guard
	roles, strangers allowance // apart, so that nobody without a key hides what a role does
}

// allowance bounds lines of a log that others cause.
type allowance struct {
	mu      sync.Mutex
	since   time.Time
	said    int
	leftOut int
}

const (
	linesAtOnce = 20
	newLines    = time.Second
)

// take tells whether one more line may be said, and how many were left out before it.
func (a *allowance) take(now time.Time) (may bool, leftOut int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.since) >= newLines {
		a.since, a.said = now, 0
	}
	if a.said >= linesAtOnce {
		a.leftOut++
		return false, 0
	}
	a.said++
	leftOut, a.leftOut = a.leftOut, 0
	return true, leftOut
}

var publicKey = regexp.MustCompile(`(?:"\$G/nkey:|Nkey ")(U[A-Z2-7]{55})"?`)

// Errorf implements the server's logger.
func (b *busLog) Errorf(format string, v ...any) {
	line := fmt.Sprintf(format, v...)
	switch {
	case strings.Contains(line, "Violation"):
		b.say(&b.roles, b.named(line))
	case strings.Contains(line, "authentication"), strings.Contains(line, "TLS handshake error"):
		b.say(&b.strangers, b.named(line))
	}
}

func (b *busLog) say(of *allowance, line string) {
	may, leftOut := of.take(time.Now())
	switch {
	case may && leftOut > 0:
		b.log.Warn("the NATS server refuses", "refused", line, "left_out", leftOut)
	case may:
		b.log.Warn("the NATS server refuses", "refused", line)
	}
}

func (b *busLog) named(line string) string {
	return publicKey.ReplaceAllStringFunc(line, func(found string) string {
		public := publicKey.FindStringSubmatch(found)[1]
		if role := b.guard.RoleOf(public); role != "" {
			return "role " + string(role)
		}
		if rig := b.guard.HostOf(public); rig != "" {
			return "host of rig " + rig
		}
		return "unknown key " + public
	})
}

// Warnf implements the server's logger.
func (b *busLog) Warnf(format string, v ...any) { b.Errorf(format, v...) }

// Fatalf implements the server's logger.
func (b *busLog) Fatalf(format string, v ...any) { b.Errorf(format, v...) }

// Noticef implements the server's logger.
func (*busLog) Noticef(string, ...any) {}

// Debugf implements the server's logger.
func (*busLog) Debugf(string, ...any) {}

// Tracef implements the server's logger.
func (*busLog) Tracef(string, ...any) {}

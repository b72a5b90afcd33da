package app

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"

	"facetrack/internal/auth"
)

// busLog passes on what the embedded server says of refusals, with roles for keys; the rest stays unsaid.
type busLog struct {
	log   *slog.Logger
	guard *auth.Guard
}

var publicKey = regexp.MustCompile(`(?:\$G/nkey:|Nkey ")(U[A-Z2-7]{55})"?`)

// Errorf implements the server's logger.
func (b *busLog) Errorf(format string, v ...any) {
	line := fmt.Sprintf(format, v...)
	for _, refusal := range []string{"Violation", "authentication", "TLS handshake error"} {
		if strings.Contains(line, refusal) {
			b.log.Warn("the NATS server refuses", "refused", b.named(line))
			return
		}
	}
}

func (b *busLog) named(line string) string {
	return publicKey.ReplaceAllStringFunc(line, func(found string) string {
		public := publicKey.FindStringSubmatch(found)[1]
		if role := b.guard.RoleOf(public); role != "" {
			return "role " + string(role)
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

package app

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"

	"github.com/nats-io/nats-server/v2/server"

	"facetrack/internal/auth"
	"facetrack/internal/config"
)

// serverLog is what takes the lines of an embedded server; nil when nobody wants any.
func serverLog(cfg config.Config, guard *auth.Guard, log *slog.Logger) server.Logger {
	var next server.Logger
	if guard != nil {
		next = &busLog{log: log, guard: guard}
	}
	if l := cfg.NATS.Leaf; l.Listen != "" || l.Hub != "" {
		return &leafLog{Logger: next, log: log, hub: l.Hub, joined: map[string]string{}}
	}
	return next
}

// leafLog tells of hosts that come and go, and why the hub is not reached: each reason once.
type leafLog struct {
	server.Logger // for everything else; nil without credentials
	log           *slog.Logger
	hub           string // as configured; "" on the hub

	mu     sync.Mutex
	joined map[string]string // the rig at the other end, by the server's number of the link
	why    string            // said last
}

var (
	linkNumber = regexp.MustCompile(`lid(?:_ws)?:\d+`)
	otherEnd   = regexp.MustCompile(`JetStream using domains: local "[^"]*", remote "([^"]*)"`)
	linkClosed = regexp.MustCompile(`Leafnode connection closed: ([^-]+)`)
	notReached = regexp.MustCompile(`connect as leafnode to remote server .*?\): (.*)`)
)

// Noticef implements the server's logger.
func (l *leafLog) Noticef(format string, v ...any) {
	line := fmt.Sprintf(format, v...)
	link := linkNumber.FindString(line)
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := otherEnd.FindStringSubmatch(line); m != nil {
		l.joined[link], l.why = m[1], ""
		if l.hub == "" {
			l.log.Warn("a host has joined", "rig", m[1])
		} else {
			l.log.Warn("this host has joined the hub", "rig", m[1], "hub", l.hub)
		}
		return
	}
	if m := linkClosed.FindStringSubmatch(line); m != nil {
		rig, ok := l.joined[link]
		delete(l.joined, link)
		switch why := strings.TrimSpace(m[1]); {
		case !ok:
		case l.hub == "":
			l.log.Warn("the link to a host is gone; it goes on alone", "rig", rig, "reason", why)
		default:
			l.log.Warn("the link to the hub is gone; this host goes on alone and tries again", "rig", rig, "hub", l.hub, "reason", why)
		}
	}
}

// Errorf implements the server's logger.
func (l *leafLog) Errorf(format string, v ...any) {
	line := fmt.Sprintf(format, v...)
	switch m := notReached.FindStringSubmatch(line); {
	case m != nil:
		l.notReached(m[1])
	case l.hub != "" && strings.Contains(line, "Authorization Violation"):
		l.notReached("the hub does not know this host's key: facetrack auth host there, nats.leaf.credentials here, and start the hub again after a new key")
	case l.hub != "" && strings.Contains(line, "TLS") && linkNumber.MatchString(line):
		l.notReached(linkNumber.ReplaceAllString(line[max(0, strings.Index(line, "TLS")):], "link"))
	case strings.Contains(line, "wrong port"):
		l.notReached("that is no port for hosts: name the hub's nats.leaf.listen, not its nats.listen")
	case l.Logger != nil:
		l.Logger.Errorf(format, v...)
	}
}

func (l *leafLog) notReached(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == why {
		return
	}
	l.why = why
	l.log.Warn("the hub is not reached; this host goes on alone and tries again", "hub", l.hub, "reason", why)
}

// Warnf implements the server's logger.
func (l *leafLog) Warnf(format string, v ...any) { l.Errorf(format, v...) }

// Fatalf implements the server's logger.
func (l *leafLog) Fatalf(format string, v ...any) { l.Errorf(format, v...) }

// Debugf implements the server's logger.
func (*leafLog) Debugf(string, ...any) {}

// Tracef implements the server's logger.
func (*leafLog) Tracef(string, ...any) {}

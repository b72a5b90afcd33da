package auth

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"facetrack/internal/stage"
)

// Role is what a process is to the NATS server.
type Role string

// Roles: the five stages, the one that starts them, and those that look on.
const (
	Capture   Role = stage.Capture
	Detect    Role = stage.Detect
	Landmarks Role = stage.Landmarks
	Tracker   Role = stage.Tracker
	LSLOut    Role = stage.LSLOut
	Up        Role = "up"     // facetrack up and begin
	Reader    Role = "reader" // facetrack status, top and record, and whoever reads results
	// Joining is the server of another host. It is no role of a process: each rig that joins has a key of its own.
	Joining Role = "host"
)

// Roles lists all roles.
var Roles = []Role{Capture, Detect, Landmarks, Tracker, LSLOut, Up, Reader}

// ErrRole is wrapped by errors about names that are no roles.
var ErrRole = errors.New("no such role")

// ParseRole finds the role with a name.
func ParseRole(name string) (Role, error) {
	if slices.Contains(Roles, Role(name)) {
		return Role(name), nil
	}
	names := make([]string, len(Roles))
	for i, r := range Roles {
		names[i] = string(r)
	}
	return "", fmt.Errorf("%w: %q; there are %s", ErrRole, name, strings.Join(names, ", "))
}

// InboxPrefix begins the subjects of answers to the role, which no other role may read.
func (r Role) InboxPrefix() string { return "_INBOX." + string(r) }

func (r Role) inbox() string { return r.InboxPrefix() + ".>" }

// isStage tells the roles that do the work from those that look on.
func (r Role) isStage() bool { return slices.Contains(stage.Names, string(r)) }

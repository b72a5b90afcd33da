package source

import "strings"

// IsLive tells from a specification alone whether it names a camera or a network stream: a source that may be
// away for a while and that nobody can play again.
func IsLive(spec string) bool {
	return strings.Contains(spec, "://") || isDevicePath(spec)
}

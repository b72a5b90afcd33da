// Package version names the release and the source that it was built from.
package version

import "runtime/debug"

// SemVer is the release.
const SemVer = "0.1.0"

// commit is set by the linker (make build).
var commit string

// Commit is the source revision the binary was built from, with "+changes" when the tree was not clean; "unknown" without.
func Commit() string {
	if commit != "" {
		return commit
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, changes := "unknown", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changes = "+changes"
		}
	}
	return revision + changes
}

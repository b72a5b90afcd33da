package config

import (
	"fmt"
	"slices"
	"strings"

	"facetrack/internal/spelling"
)

// VariablePrefix begins the names of the environment variables of settings: FACETRACK_DETECT_EVERY is detect.every.
const VariablePrefix = "FACETRACK_"

// otherVariables begin alike and are no settings.
var otherVariables = []string{
	"FACETRACK_ASSETS", "FACETRACK_BIN", "FACETRACK_CREDENTIALS", "FACETRACK_CUDA_H", "FACETRACK_FAULTS", "FACETRACK_FRAMES", "FACETRACK_HOLDOUT",
	"FACETRACK_LIBCUDA", "FACETRACK_LIBNVML", "FACETRACK_NATS", "FACETRACK_SUPERVISED", "FACETRACK_TLS_CA",
}

// Variable is the name of the environment variable of a key.
func Variable(key string) string {
	return VariablePrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// variables are the keys that a variable can set, by its name. Cameras, participants and hosts are set as whole lists.
func variables() map[string]string {
	all := map[string]string{}
	for _, key := range paths() {
		if !strings.Contains(key, "[]") {
			all[Variable(key)] = key
		}
	}
	return all
}

// overlay sets what the environment says, and warns of variables that look like a setting and are none.
func (l *Loaded) overlay(environ []string) error {
	known := variables()
	sorted := slices.Sorted(slices.Values(environ))
	for _, pair := range sorted {
		name, value, _ := strings.Cut(pair, "=")
		key, ok := known[name]
		switch {
		case ok && value == "": // as if it were not there
		case ok:
			if err := l.Set(key, value); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			l.from[key] = name
		case strings.HasPrefix(name, VariablePrefix):
			if meant := nearestVariable(name, known); meant != "" {
				l.Warnings = append(l.Warnings, fmt.Sprintf("environment variable %s is no setting (did you mean %s?)", name, meant))
			}
		}
	}
	return nil
}

// nearestVariable is the variable that was probably meant, "" when the name is nothing like a setting.
func nearestVariable(name string, known map[string]string) (best string) {
	for _, other := range otherVariables {
		if name == other || strings.HasPrefix(name, "FACETRACK_FAULTS_") {
			return ""
		}
	}
	bestDistance := 1 + (len(name)-len(VariablePrefix))/4
	for variable := range known {
		d := spelling.Distance(name, variable)
		if d < bestDistance || d == bestDistance && (best == "" || variable < best) {
			best, bestDistance = variable, d
		}
	}
	return best
}

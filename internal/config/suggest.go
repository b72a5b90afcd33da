package config

import (
	"fmt"
	"reflect"
	"strings"

	"facetrack/internal/spelling"
)

// suggest names the known key nearest to a misspelt one, when there is one near enough.
func suggest(key string) string {
	best, bestDistance := "", 1+len(key)/3
	for _, known := range keys(reflect.TypeFor[Config]()) {
		if known == key {
			return " here (see facetrack.example.yaml for where it belongs)"
		}
		if d := spelling.Distance(key, known); d <= bestDistance && (best == "" || d < bestDistance) {
			best, bestDistance = known, d
		}
	}
	if best == "" {
		return " (see facetrack.example.yaml for all keys)"
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

func keys(t reflect.Type) []string {
	switch t.Kind() {
	case reflect.Slice:
		return keys(t.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name != "-" {
			out = append(out, name)
		}
		out = append(out, keys(f.Type)...)
	}
	return out
}

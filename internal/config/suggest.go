package config

import (
	"fmt"
	"reflect"
	"strings"
)

// suggest names the known key nearest to a misspelt one, when there is one near enough.
func suggest(key string) string {
	best, bestDistance := "", 1+len(key)/3
	for _, known := range keys(reflect.TypeFor[Config]()) {
		if known == key {
			return " here (see facetrack.example.yaml for where it belongs)"
		}
		if d := editDistance(key, known); d <= bestDistance && (best == "" || d < bestDistance) {
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
		out = append(out, name)
		out = append(out, keys(f.Type)...)
	}
	return out
}

// editDistance is the Levenshtein distance.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

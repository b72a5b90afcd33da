package app

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"facetrack/internal/config"
)

// changeable are the settings that a replay may have otherwise: those that come behind the landmarks. One that ends with a dot stands
// for all that begin so.
var changeable = []string{"tracker.", "lsl.", "synchrony.", "participants", "landmarks.model"}

// changeableOfCamera are those of each camera.
var changeableOfCamera = []string{"hfov_degrees", "latency_ms"}

func mayChange(key string) bool {
	if rest, ok := strings.CutPrefix(key, "cameras."); ok {
		_, name, _ := strings.Cut(rest, ".")
		return slices.Contains(changeableOfCamera, name)
	}
	return slices.ContainsFunc(changeable, func(c string) bool {
		return key == c || strings.HasPrefix(key, c) && (strings.HasSuffix(c, ".") || key[len(c)] == '.')
	})
}

// changes are what file and --set want otherwise than the session had it. Of a file, the rest is left out; with --set, it is an error.
func (c *ReplayCmd) changes(log *slog.Logger) (all []config.Value, err error) {
	if c.Config != "" {
		l, err := config.Read(c.Config, os.Environ())
		if err == nil {
			err = l.Finish()
		}
		if err != nil {
			return nil, err
		}
		for _, v := range l.Sourced() {
			if v.Origin == config.OriginDefault || strings.HasPrefix(v.Key, "participants.") {
				continue
			}
			if mayChange(v.Key) {
				all = append(all, v.Value)
			} else {
				log.Info("not for a replay", "setting", v.Key)
			}
		}
		people, err := participantsOf(l.Config)
		if err != nil {
			return nil, err
		}
		all = append(all, people...)
	}
	for _, text := range c.Set {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("--set=%s: it must be KEY=VALUE, as tracker.smoothing.enabled=false", text)
		}
		if !mayChange(key) {
			if _, err := (config.Config{}).Get(key); err != nil && !strings.HasPrefix(key, "cameras.") {
				return nil, fmt.Errorf("--set=%s: %w", text, err)
			}
			return nil, fmt.Errorf("--set=%s: %s has had its effect before the landmarks that are stored; a replay can change tracker, lsl, synchrony, participants, landmarks.model (whose points they are), and hfov_degrees and latency_ms of cameras", text, key)
		}
		all = append(all, config.Value{Key: key, Text: value})
	}
	return all, nil
}

// participantsOf is the list as a whole, if there is any.
func participantsOf(cfg config.Config) ([]config.Value, error) {
	var people []string
	for _, p := range cfg.Participants {
		prefix := "participants." + p.Name + "."
		values, err := cfg.Get("participants." + p.Name)
		if err != nil {
			return nil, err
		}
		parts := make([]string, len(values))
		for i, v := range values {
			parts[i] = strings.TrimPrefix(v.Key, prefix) + ": " + v.Text
		}
		people = append(people, "{"+strings.Join(parts, ", ")+"}")
	}
	if len(people) == 0 {
		return nil, nil
	}
	return []config.Value{{Key: "participants", Text: "[" + strings.Join(people, ", ") + "]"}}, nil
}

package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Store says which results are kept on the NATS server, and for how long.
type Store struct {
	Enabled bool `yaml:"enabled" json:"enabled"`
	// Kinds are the last tokens of the subjects that are kept, and synchrony.
	Kinds []string `yaml:"kinds" json:"kinds"`
	// MaxAgeHours is when a message goes; 0: never. MaxGB is how much all of them take at most: the oldest go first.
	MaxAgeHours float64 `yaml:"max_age_h" json:"max_age_h"`
	MaxGB       float64 `yaml:"max_gb" json:"max_gb"`
}

// Off by default: results are data about people, and a face fills two gigabytes an hour.
func defaultStore() Store {
	return Store{Kinds: []string{"landmarks", "tracks", "synchrony", "events", "drops", "end"}, MaxAgeHours: 168, MaxGB: 4}
}

// MaxAge is MaxAgeHours as a duration.
func (s Store) MaxAge() time.Duration { return time.Duration(s.MaxAgeHours * float64(time.Hour)) }

// MaxBytes is MaxGB in bytes.
func (s Store) MaxBytes() int64 { return int64(s.MaxGB * 1e9) }

// Keeps tells whether a kind is among those that are kept.
func (s Store) Keeps(kind string) bool { return s.Enabled && slices.Contains(s.Kinds, kind) }

func (s Store) validate() error {
	list := strings.Join(words["store.kinds[]"], ", ")
	if s.Enabled && len(s.Kinds) == 0 {
		return bad("store.kinds", s.Kinds, "a list of "+list)
	}
	for i, kind := range s.Kinds {
		if slices.Contains(s.Kinds[:i], kind) {
			return bad("store.kinds", s.Kinds, fmt.Sprintf("a list that has each once (%s is there twice)", kind))
		}
	}
	if s.MaxAgeHours != 0 {
		return between("store.max_age_h", s.MaxAgeHours, 0.01, 87600)
	}
	return nil
}

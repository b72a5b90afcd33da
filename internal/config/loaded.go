package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
)

// Loaded is a configuration and where its values are from. A flag goes before the environment, that before the file, and
// that before the default.
type Loaded struct {
	Config
	// Warnings are for the user; nothing is wrong enough to stop.
	Warnings []string

	file string
	data []byte
	from map[string]string // variable or flag, by key; entries of lists as cameras[0].pace
}

// Read reads a file, none when path is empty, and then the environment, as os.Environ has it. What flags say follows with
// Flag, and then Finish is to be called.
func Read(path string, environ []string) (*Loaded, error) {
	l := &Loaded{Config: Default(), file: path, from: map[string]string{}}
	if path != "" {
		data, err := os.ReadFile(path) //nolint:gosec // the operator names the file
		if err != nil {
			return nil, fmt.Errorf("configuration: %w", err)
		}
		l.data = data
	}
	if err := l.decode(); err != nil {
		return nil, err
	}
	return l, l.overlay(environ)
}

func (l *Loaded) decode() (err error) {
	l.Config, err = decode(l.file, l.data)
	return err
}

// Flag notes that a flag has set a key, or with a key that ends in [] one of every camera.
func (l *Loaded) Flag(flag, key string) { l.from[key] = flag }

// Finish fills in what follows from the rest, and checks everything.
func (l *Loaded) Finish() error {
	for i := range l.Cameras {
		fillCamera(&l.Cameras[i], i)
	}
	l.Complete()
	if l.Origin("ring.min_slots") == OriginDefault {
		l.Ring.MinSlots = max(2, min(l.Ring.MinSlots, l.Ring.Slots)) // a smaller ring needs one key, not two
	}
	if err := l.expandHome(); err != nil {
		return l.placed(err)
	}
	if err := l.wholeNumbers(); err != nil {
		return l.placed(err)
	}
	return l.placed(l.Validate())
}

// wholeNumbers finds fractions where none belong: the decoder cuts them off.
func (l *Loaded) wholeNumbers() (first error) {
	walk(reflect.ValueOf(l.Config), "", indexed, func(key string, v reflect.Value) {
		if v.Kind() != reflect.Int || first != nil {
			return
		}
		if text, ok := textOfKey(key, l.data); ok {
			first = whole(key, text)
		}
	})
	return first
}

// OriginDefault is the origin of what nobody has set.
const OriginDefault = "default"

// Origin is where the value of a key, as detect.every or cameras[0].pace, is from: a flag, a variable, a line of the file, or
// OriginDefault.
func (l *Loaded) Origin(key string) string {
	list, _, inList := strings.Cut(key, "[")
	for _, k := range []string{key, patternOf(key)} {
		if from := l.from[k]; from != "" {
			return from
		}
	}
	if inList && l.from[list] != "" {
		return l.from[list]
	}
	if line, ok := lineOfKey(key, l.data); ok {
		return fmt.Sprintf("%s line %d", l.file, line)
	}
	return OriginDefault
}

// placed puts in front of an error about a value where that value is from.
func (l *Loaded) placed(err error) error {
	var value *ValueError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &value):
		switch from := l.Origin(value.Key); {
		case from != OriginDefault:
			return fmt.Errorf("%s: %w", from, err)
		case l.file == "":
			return err
		}
	case l.file == "":
		return err
	}
	return fmt.Errorf("%s: %w", l.file, err)
}

// Sourced is a setting with where it is from.
type Sourced struct {
	Value
	Origin string
}

// Sourced lists every setting with where it is from.
func (l *Loaded) Sourced() (all []Sourced) {
	var keys []string
	walk(reflect.ValueOf(l.Config), "", indexed, func(key string, _ reflect.Value) { keys = append(keys, key) })
	for i, v := range l.Values() { // in the same order
		all = append(all, Sourced{v, l.Origin(keys[i])})
	}
	return all
}

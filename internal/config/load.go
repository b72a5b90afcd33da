package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
)

// Load reads a YAML file over the defaults. An unknown key, a wrong type or a value out of range is one
// error that names the file, the line and the key.
func Load(path string) (Config, error) {
	data, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	return Parse(path, data)
}

// Parse is Load for bytes; name stands for the file in errors.
func Parse(name string, data []byte) (Config, error) {
	l := &Loaded{file: name, data: data}
	if err := l.decode(); err != nil {
		return Config{}, err
	}
	if err := l.Finish(); err != nil {
		return Config{}, err
	}
	return l.Config, nil
}

// decode reads a file over the defaults and checks its keys and types, but no values.
func decode(name string, data []byte) (Config, error) {
	cfg := Default()
	dec := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict())
	switch err := dec.Decode(&cfg); {
	case errors.Is(err, io.EOF): // no document: nothing but comments; the decoder has cleared cfg
		return Default(), nil
	case err != nil:
		return Config{}, fmt.Errorf("%w: %s", ErrInvalid, describe(name, err))
	}
	return cfg, nil
}

// lineOfKey finds a key, as cameras[0].pace; false when it does not stand in the file.
func lineOfKey(key string, data []byte) (line int, ok bool) {
	path, err := yaml.PathString("$." + key)
	if err != nil {
		return 0, false
	}
	node, err := path.ReadNode(bytes.NewReader(data))
	if err != nil {
		return 0, false
	}
	return node.GetToken().Position.Line, true
}

// textOfKey is the value of a key as it stands in the file.
func textOfKey(key string, data []byte) (text string, ok bool) {
	path, err := yaml.PathString("$." + key)
	if err != nil {
		return "", false
	}
	node, err := path.ReadNode(bytes.NewReader(data))
	if err != nil {
		return "", false
	}
	return node.GetToken().Value, true
}

// expandHome puts the user's home folder for a leading ~/ of paths, as a shell does.
func (c *Config) expandHome() error {
	paths := append(c.NATS.Files(), &c.DataDir, &c.Ring.Dir, &c.Detect.Model, &c.Landmarks.Model)
	for i := range c.Cameras {
		paths = append(paths, &c.Cameras[i].Source)
	}
	for _, p := range paths {
		rest, ok := strings.CutPrefix(*p, "~/")
		if !ok {
			continue
		}
		home, err := os.UserHomeDir()
		if err != nil {
			return fmt.Errorf("%w: %q: no home folder: %w", ErrInvalid, *p, err)
		}
		*p = filepath.Join(home, rest)
	}
	return nil
}

// Files are the paths in the section.
func (n *NATS) Files() []*string {
	return []*string{&n.Credentials, &n.TLS.CA, &n.TLS.Cert, &n.TLS.Key, &n.Leaf.Credentials}
}

func fillCamera(c *Camera, i int) {
	d := DefaultCamera(i)
	if c.Name == "" {
		c.Name = d.Name
	}
	if c.Pace == "" {
		c.Pace = d.Pace
	}
}

func describe(name string, err error) string {
	var yerr yaml.Error
	if !errors.As(err, &yerr) {
		return fmt.Sprintf("%s: %v", name, err)
	}
	pos := yerr.GetToken().Position
	msg := yerr.GetMessage()
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		key := unknown.Token.Value
		msg = fmt.Sprintf("unknown key %q%s", key, suggest(key))
	}
	return fmt.Sprintf("%s line %d: %s", name, pos.Line, msg)
}

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

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
	cfg := Default()
	dec := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict())
	switch err := dec.Decode(&cfg); {
	case errors.Is(err, io.EOF): // no document: nothing but comments; the decoder has cleared cfg
		cfg = Default()
	case err != nil:
		return Config{}, fmt.Errorf("%w: %s", ErrInvalid, describe(name, err))
	}
	for i := range cfg.Cameras {
		fillCamera(&cfg.Cameras[i], i)
	}
	if err := cfg.Validate(); err != nil {
		return Config{}, fmt.Errorf("%s: %w", name, err)
	}
	return cfg, nil
}

func fillCamera(c *Camera, i int) {
	d := DefaultCamera(i)
	if c.Name == "" {
		c.Name = d.Name
	}
	if c.Pace == "" {
		c.Pace = d.Pace
	}
	if c.HFOV == 0 {
		c.HFOV = d.HFOV
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

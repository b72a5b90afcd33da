package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/goccy/go-yaml"
)

// Document is a configuration as it lies in the rig's bucket.
type Document struct {
	Config `yaml:",inline"`
	// About is for people, and what the configuration itself cannot say.
	About About `yaml:"about"`
}

// About says where a revision of the configuration came from. Who writes one by hand may leave it out.
type About struct {
	By     string    `yaml:"by,omitempty"`   // user@host
	What   string    `yaml:"what,omitempty"` // as "set detect.every=3"
	At     time.Time `yaml:"at,omitempty"`
	Models Reasons   `yaml:"models,omitempty"`
}

// Reasons say why the program chose the models, where nobody named them.
type Reasons struct {
	Detect    string `yaml:"detect,omitempty"`
	Landmarks string `yaml:"landmarks,omitempty"`
}

// NewDocument is a configuration to be stored.
func NewDocument(c Config, by, what string, at time.Time) Document {
	return Document{c, About{By: by, What: what, At: at.UTC().Truncate(time.Second), Models: Reasons{c.Detect.ModelReason, c.Landmarks.ModelReason}}}
}

// Text is the configuration as a file.
func (c Config) Text() ([]byte, error) { return yaml.MarshalWithOptions(c, yaml.IndentSequence(true)) }

// Text is the document in YAML.
func (d Document) Text() ([]byte, error) {
	return yaml.MarshalWithOptions(d, yaml.IndentSequence(true))
}

// ParseDocument reads a document, which may be written by hand, and checks it as a file. The error names line and key.
func ParseDocument(name string, data []byte) (Document, error) {
	d := Document{Config: Default()}
	dec := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict())
	switch err := dec.Decode(&d); {
	case errors.Is(err, io.EOF):
		return Document{}, fmt.Errorf("%w: %s: it is empty", ErrInvalid, name)
	case err != nil:
		return Document{}, fmt.Errorf("%w: %s", ErrInvalid, describe(name, err))
	}
	l := &Loaded{Config: d.Config, file: name, data: data}
	if err := l.Finish(); err != nil {
		return Document{}, err
	}
	d.Config = l.Config
	d.Detect.ModelReason, d.Landmarks.ModelReason = d.About.Models.Detect, d.About.Models.Landmarks
	return d, nil
}

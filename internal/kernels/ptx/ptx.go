// Package ptx loads kernels that are embedded as PTX.
package ptx

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"facetrack/internal/cuda"
)

// Set is kernels, loaded on one device.
type Set struct {
	modules   []*cuda.Module
	functions map[string]*cuda.Function
}

var entry = regexp.MustCompile(`(?m)^\.visible \.entry (\w+)\(`)

// Entries are the names of the kernels in a PTX text.
func Entries(text []byte) []string {
	var names []string
	for _, m := range entry.FindAllSubmatch(text, -1) {
		names = append(names, string(m[1]))
	}
	return names
}

// Load compiles every .ptx file in the folder files for the device of a context.
func Load(ctx *cuda.Context, files fs.FS) (*Set, error) {
	s := &Set{functions: map[string]*cuda.Function{}}
	paths, err := fs.Glob(files, "*.ptx")
	for _, path := range paths {
		if err = s.load(ctx, files, path); err != nil {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Set) load(ctx *cuda.Context, files fs.FS, path string) error {
	text, err := fs.ReadFile(files, path)
	if err != nil {
		return err
	}
	m, err := ctx.LoadModule(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	s.modules = append(s.modules, m)
	for _, name := range Entries(text) {
		if s.functions[name], err = m.Function(name); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// Function is a kernel by its name; nil when no file has it.
func (s *Set) Function(name string) *cuda.Function { return s.functions[name] }

// Close unloads the kernels; work that was queued before must have ended.
func (s *Set) Close() error {
	var all []error
	for _, m := range s.modules {
		all = append(all, m.Close())
	}
	s.modules = nil
	return errors.Join(all...)
}

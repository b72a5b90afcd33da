package models

import (
	"fmt"

	"facetrack/infer/task"
)

// CanonicalFace reads the face geometry of a bundle, by name or path, without opening its networks.
func (s *Store) CanonicalFace(name string, opts Options) (*CanonicalFace, error) {
	data, found, err := s.Read(name, opts.Unverified)
	if err != nil {
		return nil, err
	}
	bundle, err := task.Open(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrContent, found.Path, err)
	}
	return ReadCanonicalFace(bundle)
}

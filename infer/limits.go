package infer

import (
	"errors"
	"fmt"
)

// ErrInvalidGraph says that a graph breaks a rule of the representation; the message names the node or value.
var ErrInvalidGraph = errors.New("infer: invalid graph")

// What a graph may hold at most. The networks of a face tracker stay far below; a corrupt or hostile file does not.
const (
	MaxNodes       = 1 << 14
	MaxValues      = 1 << 15
	MaxRank        = 6
	MaxElements    = 1 << 23 // of one value
	MaxActivations = 1 << 26 // elements of all activations together
	MaxWork        = 1 << 34 // multiply-adds of all convolutions together
)

// CheckShape returns the number of elements of a shape whose rank, dimensions and size keep the limits.
func CheckShape(shape []int) (int, error) {
	if len(shape) > MaxRank {
		return 0, fmt.Errorf("%w: rank %d is above %d", ErrInvalidGraph, len(shape), MaxRank)
	}
	n := 1
	for _, d := range shape {
		if d < 1 || d > MaxElements || n*d > MaxElements {
			return 0, fmt.Errorf("%w: shape %v needs dimensions of at least 1 and at most %d elements", ErrInvalidGraph, shape, MaxElements)
		}
		n *= d
	}
	return n, nil
}

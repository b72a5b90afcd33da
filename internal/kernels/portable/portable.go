// Package portable holds what the kernels' sources have in common.
package portable

import _ "embed" // the header

// Header is portable.cuh, which every kernel of a network includes.
//
//go:embed portable.cuh
var Header []byte

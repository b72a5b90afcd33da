//go:build !cuda || gpu

package cudatest

import "testing"

// Emulate lets the fake driver run the kernels in a folder of the repository. A GPU runs them by itself.
func Emulate(testing.TB, ...string) {}

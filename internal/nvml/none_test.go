//go:build !cuda

package nvml_test

import (
	"errors"
	"testing"

	"facetrack/internal/nvml"
)

func TestWithoutTheTag(t *testing.T) {
	if _, err := nvml.Open(); !errors.Is(err, nvml.ErrNotBuilt) {
		t.Errorf("%v, want ErrNotBuilt", err)
	}
}

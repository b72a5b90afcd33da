//go:build !cuda

package cuda

import (
	"errors"
	"testing"
)

func TestWithoutCUDAInTheBuild(t *testing.T) {
	_, versionErr := DriverVersion()
	_, devicesErr := Devices()
	_, selectErr := SelectDevice("auto")
	_, openErr := Open(Device{})
	for _, err := range []error{Init(), versionErr, devicesErr, selectErr, openErr} {
		if !errors.Is(err, ErrNotBuilt) {
			t.Errorf("%v, want ErrNotBuilt", err)
		}
	}
}

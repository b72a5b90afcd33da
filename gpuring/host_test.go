package gpuring_test

import (
	"testing"

	"facetrack/gpuring"
	"facetrack/gpuring/ringtest"
)

func TestHostRing(t *testing.T) {
	ringtest.Run(t, ringtest.Factory{Create: gpuring.Create, Open: gpuring.Open, Stall: gpuring.Stall})
}

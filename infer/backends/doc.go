// Package backends registers every inference backend that this binary is built with. Import it for its side effect.
package backends

import (
	_ "facetrack/infer/reference" // plain Go, on every machine
)

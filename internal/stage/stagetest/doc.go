// Package stagetest is what the tests of the stages share: an embedded NATS server with somebody who listens, a camera
// that serves its ring, and a stage that runs until the test ends. Everything it makes goes with the test. Only tests
// import it.
package stagetest

import (
	"log/slog"
	"time"
)

// Names in every message and ring.
const (
	Rig    = "lab"
	Camera = "cam" // of a [Ring]
)

// Deadline is how long anything may take on a busy machine before a test gives up.
const Deadline = 60 * time.Second

// Quiet is a logger that nobody reads.
var Quiet = slog.New(slog.DiscardHandler)

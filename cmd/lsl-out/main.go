// Command lsl-out is the lsl-out stage of facetrack as a process of its own; see package internal/stage.
package main

import (
	"os"

	"facetrack/internal/app"
)

func main() { os.Exit(app.StageMain("lsl-out", os.Args[1:])) }

// Command landmarks is the landmarks stage of facetrack as a process of its own; see package internal/stage.
package main

import (
	"os"

	"facetrack/internal/app"
)

func main() { os.Exit(app.StageMain("landmarks", os.Args[1:])) }

// Command detect is the detect stage of facetrack as a process of its own; see package internal/stage.
package main

import (
	"os"

	"facetrack/internal/app"
)

func main() { os.Exit(app.StageMain("detect", os.Args[1:])) }

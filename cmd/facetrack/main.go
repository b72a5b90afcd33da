// Command facetrack starts and inspects a rig of cameras whose faces are tracked.
package main

import (
	"os"

	"facetrack/internal/app"
)

func main() { os.Exit(app.Main(os.Args[1:])) }

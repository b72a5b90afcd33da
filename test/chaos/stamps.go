package main

import "facetrack/ipc"

// reached is the last stage that a frame's messages tell of.
func reached(s ipc.Stamps) string {
	switch {
	case s.Tracks != 0:
		return "tracker"
	case s.Landmarks != 0:
		return "landmarks"
	case s.Detect != 0:
		return "detect"
	case s.Capture != 0:
		return "capture"
	}
	return "nobody"
}

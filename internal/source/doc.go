// Package source turns cameras, network streams, video files, image sequences and drawn test pictures into frames.
//
// Open picks the kind from the specification:
//
//	/dev/video0, /dev/v4l/by-id/…   camera (needs the build tag gocv)
//	rtsp://…, rtsps://…, http(s)://… network stream (needs gocv)
//	clip.mkv, clip.mp4, …            video file (needs gocv)
//	clip.avi, clip.gif, clip.y4m     decoded in Go, with or without gocv; AVI with other video than Motion-JPEG needs gocv
//	demo                             the clip that is part of the program (package internal/demo)
//	photo.png, folder/, dir/*.jpg    PNG and JPEG: one picture or a sequence in natural order
//	synthetic:faces=2,size=640x480   drawn faces with known positions
//	memory:size=1920x1080,format=NV12,frames=300,start=7:clip.gif
//	                                 any recording, decoded and scaled once; all cameras that play it share it
//
// A Source works in two steps. Grab advances to the next frame and says when it was captured; Retrieve
// decodes or copies the pixels. A frame that has no place to go is grabbed and never retrieved, so that a
// drop costs little and the capture instant does not depend on where the pixels end up.
//
// Pace gives a file the rhythm of a camera, Loop restarts it at its end, and Reopener brings a camera that
// went away back. Pixels have tight rows: BGR three bytes a pixel; NV12 a luma plane, then one plane of
// interleaved U and V of half the height; YUYV two bytes a pixel. NV12 and YUYV hold BT.601 limited range.
package source

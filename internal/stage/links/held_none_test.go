//go:build !cuda

package links

import "facetrack/ipc"

func readOnDevice(*Set, ipc.Frame) outcome { return outcome{Err: "built without the tag cuda"} }

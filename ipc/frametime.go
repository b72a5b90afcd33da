package ipc

// FollowNS is the longest time between two frames of a camera over which a face is looked for where it was.
// After a longer one every face has to be found anew.
const FollowNS = 500_000_000

// TimeNS is the time by which faces move, in nanoseconds: that of the recording for recorded material, which may be
// read faster or slower than it was recorded, else that of the capture. Only differences between frames of one
// camera mean anything.
func (f *Frame) TimeNS() int64 {
	if f.MediaNS != 0 {
		return f.MediaNS
	}
	return f.CaptureNS
}

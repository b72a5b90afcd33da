//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"testing"

	"facetrack/internal/source"
	"facetrack/ipc"
)

// slowClip writes a clip of one face that moves a quarter of its size a frame, of so many frames in so many seconds.
func (r *rig) slowClip(frames, rate, seconds int) string {
	r.t.Helper()
	p, err := source.ParseSynthetic("synthetic:faces=1,fps=10,format=NV12")
	if err != nil {
		r.t.Fatal(err)
	}
	src := source.NewSynthetic(p)
	var clip bytes.Buffer
	fmt.Fprintf(&clip, "YUV4MPEG2 W%d H%d F%d:%d C420jpeg\n", p.Width, p.Height, rate, seconds)
	luma := p.Width * p.Height
	frame := make([]byte, luma*3/2)
	for range frames {
		if _, err := src.Grab(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		if err := src.Retrieve(frame); err != nil {
			r.t.Fatal(err)
		}
		clip.WriteString("FRAME\n")
		clip.Write(frame[:luma])
		for plane := range 2 { // NV12 has them interleaved
			for i := luma + plane; i < len(frame); i += 2 {
				clip.WriteByte(frame[i])
			}
		}
	}
	return r.write("slow.y4m", clip.String())
}

// checkEverybodyIsTracked: from the third frame on there are the same faces on every frame.
func checkEverybodyIsTracked(t *testing.T, all []ipc.Tracks, frames, faces int) {
	t.Helper()
	if len(all) != frames {
		t.Errorf("%d frames recorded, want %d", len(all), frames)
	}
	for _, m := range all {
		want := faces
		if m.Seq < 2 {
			want = 0
		}
		if len(m.Faces) != want {
			t.Errorf("frame %d: %d faces, want %d", m.Seq, len(m.Faces), want)
		}
		for i, f := range m.Faces {
			if f.ID != i+1 {
				t.Errorf("frame %d: identity %d, want %d", m.Seq, f.ID, i+1)
			}
		}
	}
}

// Recordings of a frame a second and less: nobody can be followed from frame to frame, so every frame is looked at.
// They are read in no time: the time of the recording counts.
func TestSlowRecordingIsTracked(t *testing.T) {
	for _, seconds := range []int{1, 2, 5} {
		t.Run(fmt.Sprintf("%d s a frame", seconds), func(t *testing.T) {
			r := prepare(t)
			clip := r.slowClip(20, 1, seconds)
			s := r.up("--config", r.config(""), "--source", clip, "--pace", "max", "--record", r.path("a.jsonl")).mustEnd()
			if cam := s.Cameras["cam0"]; cam.Tracked != 20 || len(cam.Identities) != 1 {
				t.Errorf("tracked %d frames, identities %v, dropped %v", cam.Tracked, cam.Identities, cam.Dropped)
			}
			checkEverybodyIsTracked(t, tracks(t, r.path("a.jsonl")), 20, 1)
		})
	}
}

// In real time: at a rate at which faces are just followed from frame to frame, and at one at which they are not.
func TestSlowRateInRealTime(t *testing.T) {
	for rate, frames := range map[int]int{3: 12, 1: 5} {
		t.Run(fmt.Sprintf("%d fps", rate), func(t *testing.T) {
			r := prepare(t)
			clip := r.slowClip(frames, rate, 1)
			r.up("--config", r.config(""), "--source", clip, "--record", r.path("a.jsonl")).mustEnd()
			checkEverybodyIsTracked(t, tracks(t, r.path("a.jsonl")), frames, 1)
		})
	}
}

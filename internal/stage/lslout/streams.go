package lslout

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"

	"facetrack/internal/stage"
	"facetrack/ipc"
	"facetrack/lsl"
	"facetrack/vision"
)

// errTooMany says that an identity gets no stream; the limit is lsl.max_streams of the configuration.
var errTooMany = errors.New("no stream for this identity")

// cameraStreams are the streams of one camera, one an identity.
type cameraStreams struct {
	env    *stage.Env
	camera string
	log    *slog.Logger
	slots  map[int]*lsl.Outlet
	full   bool
}

func newCameraStreams(env *stage.Env, camera string) *cameraStreams {
	return &cameraStreams{env: env, camera: camera, log: env.Log.With("camera", camera), slots: map[int]*lsl.Outlet{}}
}

// open makes the stream of an identity unless it is there.
func (s *cameraStreams) open(ctx context.Context, id int) (*lsl.Outlet, error) {
	if o := s.slots[id]; o != nil {
		return o, nil
	}
	cfg := s.env.Config.LSL
	if len(s.slots) >= cfg.MaxStreams {
		if !s.full {
			s.full = true
			s.log.Warn("identity gets no LSL stream: lsl.max_streams is reached", "identity", id, "max_streams", cfg.MaxStreams)
		}
		return nil, errTooMany
	}
	o, err := lsl.NewOutlet(ctx, s.info(id), lsl.Options{LoopbackOnly: cfg.LoopbackOnly, SessionID: cfg.SessionID, Logger: s.log})
	if err != nil {
		return nil, fmt.Errorf("LSL stream of identity %d: %w", id, err)
	}
	s.slots[id] = o
	return o, nil
}

func (s *cameraStreams) close() error {
	var errs []error
	for id, o := range s.slots {
		errs = append(errs, o.Close())
		delete(s.slots, id)
	}
	return errors.Join(errs...)
}

// info describes the stream of one identity. The rate is 0: frames can be missing, and importers must not
// spread the samples evenly.
func (s *cameraStreams) info(id int) lsl.StreamInfo {
	rig := s.env.Config.Rig
	channels := channels()
	return lsl.StreamInfo{
		Name: fmt.Sprintf("facetrack %s %s face %d", rig, s.camera, id), Type: "FaceExpression",
		ChannelCount: len(channels), Format: lsl.Float32,
		SourceID: fmt.Sprintf("facetrack:%s:%s:face:%d", rig, s.camera, id),
		Desc: lsl.Desc{
			Channels:        channels,
			Acquisition:     &lsl.Acquisition{Manufacturer: "facetrack", Model: s.env.Config.Landmarks.Model, Fields: []*lsl.Element{lsl.Leaf("camera", s.camera)}},
			Synchronization: &lsl.Synchronization{CanDropSamples: true},
		},
	}
}

// poseChannels follow the blendshapes; frame and sign conventions are those of package track.
var poseChannels = []lsl.Channel{
	{Label: "headPitch", Type: "OrientationP", Unit: "degrees"},
	{Label: "headYaw", Type: "OrientationH", Unit: "degrees"},
	{Label: "headRoll", Type: "OrientationR", Unit: "degrees"},
	{Label: "headX", Type: "PositionX", Unit: "centimeters"},
	{Label: "headY", Type: "PositionY", Unit: "centimeters"},
	{Label: "headZ", Type: "PositionZ", Unit: "centimeters"},
}

// bookChannels come last. A float32 holds frame numbers exactly up to 2^24 (6 days at 30 frames per second).
var bookChannels = []lsl.Channel{
	{Label: "confidence", Type: "Confidence", Unit: "normalized"},
	{Label: "frameNumber", Type: "FrameNumber", Unit: "count"},
}

func channels() []lsl.Channel {
	out := make([]lsl.Channel, 0, len(vision.BlendshapeNames)+len(poseChannels)+len(bookChannels))
	for _, name := range vision.BlendshapeNames {
		out = append(out, lsl.Channel{Label: name, Type: "Blendshape", Unit: "normalized"})
	}
	return slices.Concat(out, poseChannels, bookChannels)
}

// push sends the frame's sample on every stream.
func (s *cameraStreams) push(t *ipc.Tracks) error {
	var errs []error
	for id, o := range s.slots {
		i := slices.IndexFunc(t.Faces, func(f ipc.TrackedFace) bool { return f.ID == id })
		var face *ipc.TrackedFace
		if i >= 0 {
			face = &t.Faces[i]
		}
		errs = append(errs, o.Push(lsl.Seconds(t.CaptureNS), sample(face, t.Seq)))
	}
	return errors.Join(errs...)
}

// sample is one row of values in the order of channels; nil is a frame without that face.
func sample(f *ipc.TrackedFace, seq uint64) []float32 {
	n := len(vision.BlendshapeNames)
	row := make([]float32, n+len(poseChannels)+len(bookChannels))
	for i := range row {
		row[i] = float32(math.NaN())
	}
	row[len(row)-2], row[len(row)-1] = 0, float32(seq)
	if f == nil {
		return row
	}
	for i, v := range f.Blendshapes[:min(n, len(f.Blendshapes))] {
		row[i] = float32(v)
	}
	if p := f.Pose; p != nil {
		for i, v := range []float64{p.Pitch, p.Yaw, p.Roll, p.X, p.Y, p.Z} {
			row[n+i] = float32(v)
		}
	}
	row[len(row)-2] = float32(f.Score)
	return row
}

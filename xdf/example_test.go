package xdf_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"facetrack/lsl"
	"facetrack/xdf"
)

// A recording of a head pose and of markers.
func Example() {
	dir, err := os.MkdirTemp("", "xdf")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	recording, err := xdf.Create(filepath.Join(dir, "session.xdf"), xdf.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	pose, err := recording.AddStream(lsl.StreamInfo{
		Name: "Head pose", Type: "MoCap", ChannelCount: 3, NominalRate: 30, Format: lsl.Float32, SourceID: "lab-pc.pose",
		Desc: lsl.Desc{Channels: []lsl.Channel{{Label: "pitch", Unit: "degrees"}, {Label: "yaw", Unit: "degrees"}, {Label: "roll", Unit: "degrees"}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	markers, err := recording.AddStream(lsl.StreamInfo{Name: "Markers", Type: "Markers", ChannelCount: 1, Format: lsl.String, SourceID: "lab-pc.markers"})
	if err != nil {
		fmt.Println(err)
		return
	}

	captured := int64(81_250_000_000) // CLOCK_MONOTONIC nanoseconds of the frame
	fmt.Println(pose.Push(lsl.Seconds(captured), []float32{1, -2, 0.5}))
	fmt.Println(markers.PushString(lsl.Now(), "blink"))
	fmt.Println(recording.Close())
	fmt.Println(markers.ID(), pose)
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// 2 stream "Head pose" (id 1)
}

// A recording goes anywhere that takes bytes.
func ExampleNewWriter() {
	var memory bytes.Buffer
	recording, err := xdf.NewWriter(&memory, xdf.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(recording.Close(), recording.Close())
	_, err = recording.AddStream(lsl.StreamInfo{Name: "late", ChannelCount: 1, Format: lsl.Int8, SourceID: "late"})
	fmt.Println(errors.Is(err, xdf.ErrClosed), string(memory.Bytes()[:4]))
	// Output:
	// <nil> <nil>
	// true XDF:
}

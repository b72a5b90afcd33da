package lsl_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"facetrack/lsl"
)

// An outlet of a head pose, found only by programs of this host.
func Example() {
	info := lsl.StreamInfo{
		Name: "Head pose (lab-pc)", Type: "MoCap", ChannelCount: 3, NominalRate: 30,
		Format: lsl.Float32, SourceID: "lab-pc.camera-1.pose",
		Desc: lsl.Desc{
			Channels: []lsl.Channel{
				{Label: "pitch", Type: "OrientationP", Unit: "degrees"},
				{Label: "yaw", Type: "OrientationH", Unit: "degrees"},
				{Label: "roll", Type: "OrientationR", Unit: "degrees"},
			},
			Synchronization: &lsl.Synchronization{CanDropSamples: true},
		},
	}
	outlet, err := lsl.NewOutlet(context.Background(), info, lsl.Options{LoopbackOnly: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = outlet.Close() }()

	captured := int64(81_250_000_000) // CLOCK_MONOTONIC nanoseconds of the frame
	fmt.Println(outlet.Push(lsl.Seconds(captured), []float32{1, -2, 0.5}))
	fmt.Println(outlet.HaveConsumers(), outlet.Info().SessionID)
	// Output:
	// <nil>
	// false default
}

// Markers are a stream of one string channel without a rate.
func ExampleOutlet_PushString() {
	outlet, err := lsl.NewOutlet(context.Background(), lsl.StreamInfo{
		Name: "Markers (lab-pc)", Type: "Markers", ChannelCount: 1, Format: lsl.String, SourceID: "lab-pc.markers",
	}, lsl.Options{LoopbackOnly: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = outlet.Close() }()
	fmt.Println(outlet.PushString(lsl.Now(), "blink"))
	fmt.Println(errors.Is(outlet.PushString(0, "blink"), lsl.ErrTimestamp))
	// Output:
	// <nil>
	// true
}

// One process sends what several people do, to programs of its host that belong to the same session.
func ExampleOptions() {
	opts := lsl.Options{SessionID: "lab-2", LoopbackOnly: true} // or Interfaces: []string{"eth0"}, for a network
	var outlets []*lsl.Outlet
	for person := range 3 {
		o, err := lsl.NewOutlet(context.Background(), lsl.StreamInfo{
			Name: fmt.Sprintf("Gaze of person %d (lab-pc)", person), Type: "Gaze", ChannelCount: 2, Format: lsl.Float32,
			SourceID: fmt.Sprintf("lab-pc.person-%d.gaze", person),
		}, opts)
		if err != nil {
			fmt.Println(err)
			return
		}
		outlets = append(outlets, o)
	}
	for _, o := range outlets {
		fmt.Println(o.Info().SourceID, o.Push(lsl.Now(), []float32{0.5, 0.25}), o.Close())
	}
	// Output:
	// lab-pc.person-0.gaze <nil> <nil>
	// lab-pc.person-1.gaze <nil> <nil>
	// lab-pc.person-2.gaze <nil> <nil>
}

// A program that has nothing to do without readers waits for the first.
func ExampleOutlet_WaitForConsumers() {
	outlet, err := lsl.NewOutlet(context.Background(), lsl.StreamInfo{
		Name: "Eyes (lab-pc)", Type: "Gaze", ChannelCount: 2, Format: lsl.Double, SourceID: "lab-pc.eyes",
	}, lsl.Options{LoopbackOnly: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = outlet.Close() }()
	patience, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	fmt.Println(errors.Is(outlet.WaitForConsumers(patience), context.DeadlineExceeded))
	for _, r := range outlet.Stats().Readers { // none
		fmt.Println(r.Host, r.Sent, r.Dropped)
	}
	// Output: true
}

func ExampleSeconds() {
	fmt.Println(lsl.Seconds(1_500_000_000))
	// Output: 1.5
}

// Facts beyond the usual ones are elements of their own.
func ExampleNode() {
	channel := lsl.Channel{
		Label: "left pupil", Type: "Diameter", Unit: "mm",
		Fields: []*lsl.Element{lsl.Leaf("eye", "left")},
	}
	settings := lsl.Node("settings", lsl.Leaf("gain", "2"), lsl.Leaf("exposure", "auto"))
	fmt.Println(channel.Fields[0].Name, channel.Fields[0].Text, len(settings.Children))
	// Output: eye left 2
}

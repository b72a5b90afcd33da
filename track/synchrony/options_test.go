package synchrony

import (
	"errors"
	"math"
	"strings"
	"testing"

	"facetrack/vision"
)

func TestOptionsAreChecked(t *testing.T) {
	many := make([]int, maxChannels+1)
	for i := range many {
		many[i] = i
	}
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"Channels", Options{}},
		{"Channels", Options{Channels: []int{-1}}},
		{"Channels", Options{Channels: []int{math.MaxInt}}},
		{"Channels", Options{Channels: []int{3, 1, 3}}},
		{"Channels", Options{Channels: many}},
		{"Rate", Options{Rate: -30}},
		{"Rate", Options{Rate: math.NaN()}},
		{"MaxGapSeconds", Options{MaxGapSeconds: math.Inf(1)}},
		{"MaxGapSeconds", Options{MaxGapSeconds: 0.6}},
		{"WaitSeconds", Options{WaitSeconds: -1}},
		{"WindowSeconds", Options{WindowSeconds: 0.1}},
		{"StepSeconds", Options{StepSeconds: 1e9}},
		{"MaxLagSeconds", Options{MaxLagSeconds: -2}},
		{"PeakSpanSeconds", Options{PeakSpanSeconds: 3}},
		{"MinValid", Options{MinValid: 1.1}},
		{"MinDeviation", Options{MinDeviation: 1e-9}},
		{"DerivativeSeconds", Options{DerivativeSeconds: 6}},
		{"MinSpeed", Options{MinSpeed: -1}},
		{"BaselineSeconds", Options{BaselineSeconds: 1e6}},
		{"SustainedSeconds", Options{SustainedSeconds: 0.1}},
		{"MinBaselineDeviation", Options{MinBaselineDeviation: math.NaN()}},
	} {
		if c.name != "Channels" {
			c.o.Channels = []int{0}
		}
		p, err := New(c.o, func(Result) {})
		if p != nil || !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), c.name+" ") {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
	if _, err := New(one(), nil); !errors.Is(err, ErrOptions) {
		t.Errorf("without a receiver: %v", err)
	}
}

func TestWrongFrames(t *testing.T) {
	p, err := New(Options{Channels: []int{3}}, func(Result) {})
	if err != nil {
		t.Fatal(err)
	}
	if p.Add(A, 0, make([]float64, 3)) == nil || p.Add(2, 0, make([]float64, 4)) == nil || p.Add(-1, 0, nil) == nil {
		t.Error("a wrong frame passed")
	}
	if err := p.Add(A, 0, make([]float64, 4)); err != nil {
		t.Error(err)
	}
}

func TestChannelNames(t *testing.T) {
	labels := vision.BlendshapeNames[:]
	got, err := Channels(labels, "mouthSmileLeft", "jawOpen")
	if err != nil || len(got) != 2 || labels[got[0]] != "mouthSmileLeft" || labels[got[1]] != "jawOpen" {
		t.Errorf("%v, %v", got, err)
	}
	for wrong, right := range map[string]string{
		"mouthsmileleft": "mouthSmileLeft", "jawOpn": "jawOpen", "browInerUp": "browInnerUp", "": "jawLeft",
	} {
		if _, err := Channels(labels, "jawOpen", wrong); err == nil || !strings.Contains(err.Error(), right) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if _, err := Channels(nil, "jawOpen"); err == nil {
		t.Error("found a name in nothing")
	}
}

package ipc_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"facetrack/ipc"
)

func testSynchrony() *ipc.Synchrony {
	nan := ipc.Number(math.NaN())
	return &ipc.Synchrony{
		A: "mother", B: "cam0:12", FromNS: 1, ToNS: 5e9, CaptureNS: 7e9,
		Series: []ipc.SynchronySeries{
			{
				Channel:   "jawOpen",
				Value:     ipc.SynchronyLagged{R: 0.25, Nearest: ipc.SynchronyPeak{R: 0.5, LagS: -0.4}, Highest: ipc.SynchronyPeak{R: 0.75, LagS: 1.5}, Valid: 150},
				Transient: ipc.SynchronyLagged{R: -1, Nearest: ipc.SynchronyPeak{R: 0.125, LagS: 0.1}, Highest: ipc.SynchronyPeak{R: 1, LagS: 2}, Valid: 149},
				Sustained: ipc.SynchronyAtLevel{R: 1e-300, Valid: 900},
			},
			{
				Channel:   ipc.SynchronyMean,
				Value:     ipc.SynchronyLagged{R: nan, Nearest: ipc.SynchronyPeak{R: nan, LagS: nan}, Highest: ipc.SynchronyPeak{R: nan, LagS: nan}},
				Transient: ipc.SynchronyLagged{R: nan, Nearest: ipc.SynchronyPeak{R: nan, LagS: nan}, Highest: ipc.SynchronyPeak{R: nan, LagS: nan}},
				Sustained: ipc.SynchronyAtLevel{R: nan},
			},
		},
	}
}

func TestSynchronyRoundTrip(t *testing.T) {
	want := testSynchrony()
	data, err := want.AppendJSON([]byte("before"))
	text, kept := strings.CutPrefix(string(data), "before")
	if err != nil || !kept || strings.Contains(text, "NaN") {
		t.Fatalf("%v: %s", err, data)
	}
	got, err := ipc.DecodeSynchrony([]byte(text))
	if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", *want) { // NaN is no equal of NaN
		t.Errorf("%v\nread %+v\nsent %+v", err, got, *want)
	}
	const nothing = `{"r":null,"nearest":{"r":null,"lag_s":null},"highest":{"r":null,"lag_s":null},"valid":0}`
	if last := `{"channel":"mean","value":` + nothing + `,"transient":` + nothing + `,"sustained":{"r":null,"valid":0}}]}`; !strings.HasSuffix(text, last) {
		t.Errorf("what is not known is written as\n%s", text)
	}
}

// What is not there, or is null, is not known; it is not 0.
func TestMissingMeasuresAreNotKnown(t *testing.T) {
	s, err := ipc.DecodeSynchrony([]byte(`{"a":"x","b":"y","series":[{"channel":"mean","value":{"nearest":null,"highest":{"r":0.5}}}]}`))
	if err != nil || len(s.Series) != 1 {
		t.Fatalf("%v: %+v", err, s)
	}
	one := s.Series[0]
	for name, v := range map[string]ipc.Number{
		"r": one.Value.R, "nearest": one.Value.Nearest.R, "lag": one.Value.Highest.LagS, "transient": one.Transient.R, "sustained": one.Sustained.R,
	} {
		if !math.IsNaN(float64(v)) {
			t.Errorf("%s is %v", name, v)
		}
	}
	if one.Value.Highest.R != 0.5 {
		t.Errorf("highest %v", one.Value.Highest)
	}
}

func TestInfiniteMeasuresAreNotKnown(t *testing.T) {
	s := testSynchrony()
	s.Series[0].Value.R = ipc.Number(math.Inf(1))
	data, err := s.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ipc.DecodeSynchrony(data); err != nil || !math.IsNaN(float64(got.Series[0].Value.R)) {
		t.Errorf("%v: %+v", err, got)
	}
}

func TestSynchronyThatIsRefused(t *testing.T) {
	series := func(n int) string { return `{"a":"x","b":"y","series":[` + repeat(`{"channel":"c"}`, n) + `]}` }
	for text, want := range map[string]string{
		``:                                  "decode synchrony",
		`null`:                              `a "": not a name`,
		`{"a":"x"}`:                         `b "": not a name`,
		`{"a":"x.y","b":"y"}`:               `a "x.y": not a name`,
		`{"a":"x","b":"cam0:0"}`:            `b "cam0:0": not a name`,
		`{"a":"x","b":"y","series":{}}`:     "series",
		`{"a":"x","b":"y","t_to_ns":"now"}`: "t_to_ns",
		`{"a":"x","b":"y","series":[{"value":{"r":1e999}}]}`:                          "1e999",
		`{"a":"x","b":"y","series":[{"value":{"r":"NaN"}}]}`:                          "string",
		`{"a":"x","b":"y"} {}`:                                                        "after top-level value",
		series(ipc.MaxSeries + 1):                                                     "130 series, at most 129",
		`{"a":"x","b":"y","series":[{"channel":"` + strings.Repeat("c", 129) + `"}]}`: "channel",
	} {
		if s, err := ipc.DecodeSynchrony([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: want %q, got %v, %+v", text, want, err, s)
		}
	}
	if _, err := ipc.DecodeSynchrony([]byte(series(ipc.MaxSeries))); err != nil {
		t.Error(err)
	}
	bad := testSynchrony()
	if bad.A = "a b"; !refusedToken(bad) {
		t.Error("a name that is none is sent")
	}
	bad = testSynchrony()
	bad.Series = make([]ipc.SynchronySeries, ipc.MaxSeries+1)
	if data, err := bad.AppendJSON(nil); !errors.Is(err, ipc.ErrInvalid) || data != nil {
		t.Errorf("too many series: %v", err)
	}
}

func refusedToken(m ipc.Message) bool {
	data, err := m.AppendJSON(nil)
	return data == nil && errors.Is(err, ipc.ErrToken)
}

func TestValidParticipant(t *testing.T) {
	long := strings.Repeat("x", 32)
	for s, want := range map[string]bool{
		"mother": true, "a-b_9": true, "7": true, long: true, long + ":1": true, "cam0:1": true, "cam0:1000000": true, "cam0:999999999": true,
		"": false, "a.b": false, "a b": false, "ç": false, "*": false, ">": false, long + "x": false, long + "x:1": false,
		":": false, ":1": false, "cam0:": false, "cam0:0": false, "cam0:01": false, "cam0:-1": false, "cam0:+1": false, "cam0:1:2": false, "cam0:1a": false,
		"cam0:١": false, "cam0: 1": false, "cam0:99999999999999999999999": false, "c.m:1": false,
	} {
		if got := ipc.ValidParticipant(s); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
	if s := ipc.Participant("cam0", 12); s != "cam0:12" || !ipc.ValidParticipant(s) {
		t.Errorf("participant %q", s)
	}
}

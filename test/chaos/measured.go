package main

import (
	"encoding/json"
	"math"
	"slices"
)

// Measured is what was measured, whether it broke a promise or not.
type Measured struct {
	Off         *Values                `json:"face_off_px"`     // tracked faces from where their frames have them
	CaptureLate *Values                `json:"capture_late_ms"` // frames from when they were due to when they were announced, unless capture itself was the target
	OthersQuiet *Values                `json:"others_quiet_ms"` // longest silence of a stage before one that was killed or stopped
	DeadHeldMS  float64                `json:"dead_held_ms"`    // longest that a killed process was seen to hold slots
	Recovery    map[string]Recoveries  `json:"recovery"`        // by kind and stage
	Cameras     map[string]CameraFates `json:"cameras"`
	Rings       map[string]int         `json:"rings"` // of each camera, one after the other
	Restarts    map[string]int         `json:"restarts"`
	Links       map[string]int         `json:"links"`            // samples by transport
	NotBestS    float64                `json:"links_not_best_s"` // longest
	Held        map[string]Held        `json:"held"`
	Lives       []Life                 `json:"lives"`
	Witness     Testimony              `json:"witness"`
	Identities  []Identity             `json:"identities"`    // changes of the number of the one face of a camera
	ProbeLateMS *Values                `json:"probe_late_ms"` // of a process that wants to run every 10 ms, where it was more than 20 ms late
}

func newMeasured() Measured {
	return Measured{
		Off: &Values{}, CaptureLate: &Values{}, OthersQuiet: &Values{}, ProbeLateMS: &Values{},
		Recovery: map[string]Recoveries{}, Cameras: map[string]CameraFates{}, Rings: map[string]int{}, Restarts: map[string]int{},
		Links: map[string]int{}, Held: map[string]Held{},
	}
}

// CameraFates is what became of a camera's frames, as this program heard it.
type CameraFates struct {
	Captured int            `json:"captured"`
	Tracked  int            `json:"tracked"`
	Dropped  map[string]int `json:"dropped"` // by stage:reason
	Silent   int            `json:"silent"`  // no notice: with a process that died, or a message that was not carried
	Both     int            `json:"both"`    // tracked, and told as dropped
}

// Identity is a change of the number of a camera's face.
type Identity struct {
	Camera string  `json:"camera"`
	AtS    float64 `json:"at_s"`
	From   int     `json:"from"`
	To     int     `json:"to"`
	After  string  `json:"after,omitempty"`
}

// Held is what a process holds at rest, before the steps and after them.
type Held struct {
	Before Figures `json:"before"`
	After  Figures `json:"after"`
}

// Life is what one process held in the second and in the last quarter of its life.
type Life struct {
	Process string  `json:"process"`
	Seconds float64 `json:"s"`
	Second  Figures `json:"second_quarter"`
	Last    Figures `json:"last_quarter"`
}

// Recovery is one, in milliseconds from when the cause was gone; -1: it did not come.
type Recovery struct {
	AtS      float64 `json:"at_s"`
	Alone    bool    `json:"alone"`
	FirstMS  float64 `json:"first_ms"`  // the first camera
	AllMS    float64 `json:"all_ms"`    // the last one
	DeniedMS float64 `json:"denied_ms"` // for how long the targets, or who measured, were ready to run and not let meanwhile
}

// Recoveries are those after causes of one kind.
type Recoveries []Recovery

// values are of those that nothing else disturbed, or of all.
func (r Recoveries) values(alone bool) *Values {
	v := &Values{}
	for _, x := range r {
		if x.AllMS >= 0 && (x.Alone || !alone) {
			v.add(x.AllMS)
		}
	}
	return v
}

// MarshalJSON gives the percentiles and every value.
func (r Recoveries) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Alone *Values    `json:"alone_ms"`
		All   *Values    `json:"all_ms"`
		Each  []Recovery `json:"each"`
	}{r.values(true), r.values(false), []Recovery(r)})
}

// Values are measurements of one kind.
type Values struct{ all []float64 }

func (v *Values) add(x float64) { v.all = append(v.all, x) }

// at is a percentile, by nearest rank; 0 without values.
func (v *Values) at(percent float64) float64 {
	if len(v.all) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v.all))
	rank := int(math.Ceil(percent / 100 * float64(len(s))))
	return s[min(max(rank, 1), len(s))-1]
}

// MarshalJSON gives number and percentiles.
func (v *Values) MarshalJSON() ([]byte, error) {
	round := func(x float64) float64 { return math.Round(x*1000) / 1000 }
	return json.Marshal(struct {
		N   int     `json:"n"`
		P50 float64 `json:"p50"`
		P99 float64 `json:"p99"`
		Max float64 `json:"max"`
	}{len(v.all), round(v.at(50)), round(v.at(99)), round(v.at(100))})
}

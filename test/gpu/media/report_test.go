//go:build cuda

package media

import (
	"encoding/json"
	"slices"
	"testing"

	"facetrack/infer"
)

// result is the line that a comparison leaves.
type result struct {
	Test      string                `json:"test"`
	Device    string                `json:"device"`
	GPU       bool                  `json:"gpu"`
	Precision string                `json:"precision"`
	Frames    int                   `json:"frames"`
	Faces     int                   `json:"faces"`
	Retried   int                   `json:"retried"`  // looked at elsewhere than asked
	Doubtful  int                   `json:"doubtful"` // a face to one side alone
	Nobody    int                   `json:"nobody"`   // regions that show no face at all
	Beyond    int                   `json:"beyond"`   // the limits
	Worst     difference            `json:"worst"`
	WorstAt   string                `json:"worst_at"` // where the points are furthest off
	Median    difference            `json:"median"`
	Detectors map[string]*sightings `json:"detectors"`
}

func (c *comparison) report(t *testing.T) {
	r := &c.result
	r.Test, r.GPU = t.Name(), onGPU
	if len(c.all) == 0 {
		t.Fatal("no face was compared")
	}
	if r.Precision == infer.FP32 && r.Doubtful > 0 || r.Doubtful*50 > r.Faces {
		t.Errorf("%d of %d regions show a face to one side alone", r.Doubtful, r.Faces)
	}
	for name, d := range r.Detectors {
		if d.Tied*10 > r.Frames {
			t.Errorf("%s: other winners in %d of %d frames", name, d.Tied, r.Frames)
		}
	}
	r.Worst, r.Median = quantile(c.all, 1), quantile(c.all, 0.5)
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("RESULT %s", line)
}

// quantile is that of each number by itself; of the overlaps, which are better when they are larger, as well.
func quantile(all []difference, q float64) difference {
	of := func(value func(d difference) float64) float64 {
		values := make([]float64, len(all))
		for i, d := range all {
			values[i] = value(d)
		}
		slices.Sort(values)
		return values[int(q*float64(len(values)-1))]
	}
	return difference{
		Points:      of(func(d difference) float64 { return d.Points }),
		Frame:       of(func(d difference) float64 { return d.Frame }),
		Presence:    of(func(d difference) float64 { return d.Presence }),
		Blendshapes: of(func(d difference) float64 { return d.Blendshapes }),
		Looks:       of(func(d difference) float64 { return d.Looks }),
		Box:         -of(func(d difference) float64 { return -d.Box }),
		Region:      -of(func(d difference) float64 { return -d.Region }),
		Turn:        of(func(d difference) float64 { return d.Turn }),
	}
}

package modeleval

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func goodReport() *Report {
	r := &Report{All: &Clip{Name: "all"}, Holdout: &Holdout{AP24: AP{AP: 0.98}, Moved: Truth{Error3D: 0.03, Coefficients: 0.05}}}
	r.All.Detection.Faces = []FoundFace{{Share: 1}, {Share: 0.95}}
	r.All.SameRegion.Median, r.All.OwnLoop.Median = 0.06, 0.05
	return r
}

func TestRequirements(t *testing.T) {
	for _, c := range []struct {
		missed string
		spoil  func(*Report)
	}{
		{"", func(*Report) {}},
		{"every face", func(r *Report) { r.All.Detection.Faces[1].Share = 0.94 }},
		{"false alarms", func(r *Report) { r.All.Detection.AlarmShare = 0.021 }},
		{"same region", func(r *Report) { r.All.SameRegion.Median = 0.061 }},
		{"own loop", func(r *Report) { r.All.OwnLoop.Median = 0.061 }},
		{"average precision", func(r *Report) { r.Holdout.AP24.AP = 0.96 }},
		{"rendered: 68 points", func(r *Report) { r.Holdout.Moved.Error3D = 0.031 }},
		{"coefficients", func(r *Report) { r.Holdout.Moved.Coefficients = 0.061 }},
	} {
		r := goodReport()
		c.spoil(r)
		r.Requirements = requirements(r)
		missed := r.Missed()
		if c.missed == "" {
			if len(missed) != 0 || len(r.Requirements) != 7 {
				t.Errorf("nothing spoiled: %v of %d", missed, len(r.Requirements))
			}
		} else if len(missed) != 1 || !strings.Contains(missed[0].String(), c.missed) {
			t.Errorf("%s: %v", c.missed, missed)
		}
	}
	if got := requirements(&Report{}); len(got) != 0 {
		t.Errorf("of what was not measured: %v", got)
	}
}

func TestNumbersAreShortAndAllThere(t *testing.T) {
	r := goodReport()
	r.Threshold, r.All.Detection.MeanIoU, r.Commit = 0.6, 0.123456789, "v1.2-3-gabc"
	data, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte(`"mean_iou": 0.1235`)) || back.Threshold != 0.6 || back.Commit != r.Commit {
		t.Errorf("%s", data)
	}
}

package modeleval

import "fmt"

// Requirement is a limit that the networks are to keep.
type Requirement struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Limit   float64 `json:"limit"`
	AtLeast bool    `json:"at_least"` // else at most
	Kept    bool    `json:"kept"`
}

func atLeast(name string, value, limit float64) Requirement {
	return Requirement{name, value, limit, true, value >= limit}
}

func atMost(name string, value, limit float64) Requirement {
	return Requirement{name, value, limit, false, value <= limit}
}

// requirements are those about what was measured.
func requirements(r *Report) []Requirement {
	all := []Requirement{}
	if c := r.All; c != nil {
		share := 1.0
		for _, f := range c.Detection.Faces {
			share = min(share, f.Share)
		}
		all = append(all,
			atLeast("photographs: every face found, share of its frames", share, 0.95),
			atMost("photographs: false alarms, share of our boxes", c.Detection.AlarmShare, 0.02),
			atMost("photographs: 68 points from the same region, median", c.SameRegion.Median, 0.06),
			atMost("photographs: 68 points in our own loop, median", c.OwnLoop.Median, 0.06))
	}
	if h := r.Holdout; h != nil {
		all = append(all,
			atLeast("rendered: average precision, faces of 24 px", h.AP24.AP, 0.97),
			atMost("rendered: 68 points, mean", h.Moved.Error3D, 0.03),
			atMost("rendered: coefficients, mean absolute error", h.Moved.Coefficients, 0.06))
	}
	return all
}

// String is the requirement for people.
func (r Requirement) String() string {
	word := "at most"
	if r.AtLeast {
		word = "at least"
	}
	return fmt.Sprintf("%s: %.3f, required %s %g", r.Name, r.Value, word, r.Limit)
}

// Missed are the requirements that were not kept.
func (r *Report) Missed() (missed []Requirement) {
	for _, q := range r.Requirements {
		if !q.Kept {
			missed = append(missed, q)
		}
	}
	return missed
}

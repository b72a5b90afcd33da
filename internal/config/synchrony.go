package config

import (
	"fmt"
	"slices"
	"strings"

	"facetrack/ipc"
	"facetrack/track/synchrony"
	"facetrack/vision"
)

// Synchrony says whose expressions are compared while they are recorded, and how; package track/synchrony defines the measures.
type Synchrony struct {
	// Pairs of participants: names, or camera and number as cam0:1. None: each two named participants.
	Pairs             [][]string `yaml:"pairs" json:"pairs"`
	Enabled           bool       `yaml:"enabled" json:"enabled"`
	Channels          []string   `yaml:"channels" json:"channels"`
	RateHz            float64    `yaml:"rate_hz" json:"rate_hz"`
	WindowSeconds     float64    `yaml:"window_s" json:"window_s"`
	StepSeconds       float64    `yaml:"step_s" json:"step_s"`
	MaxLagSeconds     float64    `yaml:"max_lag_s" json:"max_lag_s"`
	DerivativeSeconds float64    `yaml:"derivative_s" json:"derivative_s"`
	BaselineSeconds   float64    `yaml:"baseline_s" json:"baseline_s"`
	SustainedSeconds  float64    `yaml:"sustained_s" json:"sustained_s"`
}

// maxPairs bounds the pairs that are compared: 64 of them with ten channels take 7 % of a core.
const maxPairs = 256

func defaultSynchrony() Synchrony {
	return Synchrony{
		Enabled: true,
		Channels: []string{
			"browInnerUp", "browDownLeft", "browDownRight", "cheekSquintLeft", "cheekSquintRight",
			"jawOpen", "mouthFrownLeft", "mouthFrownRight", "mouthSmileLeft", "mouthSmileRight",
		},
		RateHz: 30, WindowSeconds: 5, StepSeconds: 0.5, MaxLagSeconds: 2, DerivativeSeconds: 0.25, BaselineSeconds: 10, SustainedSeconds: 30,
	}
}

// Options are those of package synchrony.
func (s Synchrony) Options() (synchrony.Options, error) {
	channels, err := synchrony.Channels(vision.BlendshapeNames[:], s.Channels...)
	return synchrony.Options{
		Channels: channels, Rate: s.RateHz, WindowSeconds: s.WindowSeconds, StepSeconds: s.StepSeconds, MaxLagSeconds: s.MaxLagSeconds,
		DerivativeSeconds: s.DerivativeSeconds, BaselineSeconds: s.BaselineSeconds, SustainedSeconds: s.SustainedSeconds,
	}, err
}

// SynchronyPairs are the pairs of participants that are compared.
func (c Config) SynchronyPairs() (pairs [][2]string) {
	if !c.Synchrony.Enabled {
		return nil
	}
	for _, p := range c.Synchrony.Pairs {
		pairs = append(pairs, [2]string{p[0], p[1]})
	}
	if len(pairs) > 0 {
		return pairs
	}
	names := c.Names()
	for i, a := range names {
		for _, b := range names[i+1:] {
			pairs = append(pairs, [2]string{a, b})
		}
	}
	return pairs
}

func (c Config) validateSynchrony() error {
	if !c.Synchrony.Enabled {
		return nil
	}
	seen := map[[2]string]bool{}
	for i, p := range c.Synchrony.Pairs {
		key := fmt.Sprintf("synchrony.pairs[%d]", i)
		if len(p) != 2 || p[0] == p[1] {
			return bad(key, p, "two participants, as [mother, child]")
		}
		for _, who := range p {
			camera, _, _ := ipc.ParseParticipant(who)
			if rig, _, other := ipc.ParsePlace(camera); other && !slices.Contains(c.HostNames(), rig) {
				return bad(key, who, "of a rig that hosts lists")
			}
			if !c.isParticipant(who) {
				return bad(key, who, "the name of a participant, or camera and number of one without name, as cam0:1")
			}
		}
		if seen[[2]string{p[0], p[1]}] || seen[[2]string{p[1], p[0]}] {
			return bad(key, p, "a pair that is not in the list yet")
		}
		seen[[2]string{p[0], p[1]}] = true
	}
	if n := len(c.SynchronyPairs()); n > maxPairs {
		return bad("synchrony.pairs", n, fmt.Sprintf("at most %d pairs: list those that matter", maxPairs))
	}
	options, err := c.Synchrony.Options()
	if err != nil {
		return bad("synchrony.channels", strings.Join(c.Synchrony.Channels, " "), "names of blendshapes: "+err.Error())
	}
	if _, err := synchrony.New(options, func(synchrony.Result) {}); err != nil {
		return fmt.Errorf("%w: synchrony: lengths that do not go together: %w", ErrInvalid, err)
	}
	return nil
}

// isParticipant tells a name of the list, or somebody without name in a camera that names nobody.
func (c Config) isParticipant(who string) bool {
	if camera, _, numbered := ipc.ParseParticipant(who); numbered {
		if rig, _, other := ipc.ParsePlace(camera); other {
			return slices.Contains(c.HostNames(), rig)
		}
		return (len(c.Cameras) == 0 || c.Has(camera)) && len(c.ParticipantsOf(camera)) == 0
	}
	return slices.Contains(c.Names(), who)
}

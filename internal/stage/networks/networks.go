// Package networks opens the models that a stage's configuration names.
package networks

import (
	"errors"
	"path/filepath"
	"strings"

	"facetrack/infer"
	_ "facetrack/infer/backends" // registers what this build has
	"facetrack/internal/config"
	"facetrack/internal/models"
	"facetrack/track"
	"facetrack/vision"
)

// Choose names the models that a configuration leaves to the program, and says why it is those.
func Choose(cfg *config.Config) error {
	if cfg.Detect.Model != config.Auto && cfg.Landmarks.Model != config.Auto {
		return nil
	}
	store, err := models.NewStore()
	if err != nil {
		return err
	}
	if cfg.Detect.Model == config.Auto {
		cfg.Detect.Model, cfg.Detect.ModelReason = store.ChooseDetector()
	}
	if cfg.Landmarks.Model == config.Auto {
		cfg.Landmarks.Model, cfg.Landmarks.ModelReason = store.ChooseLandmarks()
	}
	return nil
}

// Detector is a face detector with its session.
type Detector struct {
	*vision.Detector
	session infer.Session
}

// OpenDetector opens the detector of a configuration.
func OpenDetector(cfg config.Config) (*Detector, error) {
	store, err := models.NewStore()
	if err != nil {
		return nil, err
	}
	kind, session, err := store.Detector(cfg.Detect.Model, options(cfg, cfg.Detect.Model))
	if err != nil {
		return nil, err
	}
	d, err := vision.NewDetector(kind, session, detectorOptions(cfg))
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return &Detector{d, session}, nil
}

// Tune takes the thresholds and the number of faces of another configuration. It is called between two frames.
func (d *Detector) Tune(cfg config.Config) { d.Detector.Tune(detectorOptions(cfg)) }

// Backend names what runs the network.
func (d *Detector) Backend() string { return d.session.Backend() }

// Close frees the network.
func (d *Detector) Close() error { return d.session.Close() }

// Landmarks are the networks of a landmark model with their sessions.
type Landmarks struct {
	*vision.Landmarker
	nets *models.Landmarks
}

// OpenLandmarks opens the landmark model of a configuration. Faces below minPresence get points alone.
func OpenLandmarks(cfg config.Config, minPresence float64) (*Landmarks, error) {
	store, err := models.NewStore()
	if err != nil {
		return nil, err
	}
	nets, err := store.Landmarks(cfg.Landmarks.Model, options(cfg, cfg.Landmarks.Model))
	if err != nil {
		return nil, err
	}
	l, err := vision.NewLandmarker(nets.Points, nets.Blendshapes, vision.LandmarkerOptions{
		PresenceThreshold: minPresence,
	})
	if err != nil {
		return nil, errors.Join(err, nets.Close())
	}
	return &Landmarks{l, nets}, nil
}

// Backend names what runs the networks.
func (l *Landmarks) Backend() string { return l.nets.Points.Backend() }

// Close frees the networks.
func (l *Landmarks) Close() error { return l.nets.Close() }

// OpenHead opens what head pose is measured against: the mean head of the landmark model's points.
func OpenHead(cfg config.Config) (*track.PoseSolver, error) {
	store, err := models.NewStore()
	if err != nil {
		return nil, err
	}
	set, head, err := store.Head(cfg.Landmarks.Model, own(cfg.Landmarks.Model))
	if err != nil {
		return nil, err
	}
	return track.NewPoseSolver(set, head)
}

func detectorOptions(cfg config.Config) vision.DetectorOptions {
	return vision.DetectorOptions{
		ScoreThreshold: cfg.Detect.ScoreThreshold, NMSThreshold: cfg.Detect.NMSThreshold, MaxFaces: cfg.Detect.MaxFaces,
	}
}

func options(cfg config.Config, name string) models.Options {
	return models.Options{Infer: infer.Options{
		Backend: cfg.Infer.Backend, Precision: cfg.Infer.Precision, Threads: cfg.Infer.Threads, GPU: cfg.CUDA.GPU,
	}, Unverified: own(name)}
}

// own: a file that is named by its path is the user's own and has no known hash.
func own(name string) bool {
	return strings.ContainsRune(name, filepath.Separator) || filepath.Ext(name) != ""
}

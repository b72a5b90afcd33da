package modeleval

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"facetrack/infer"
	_ "facetrack/infer/backends" // registers what this build has
	"facetrack/internal/models"
	"facetrack/topology"
	"facetrack/track"
	"facetrack/vision"
)

// Models names networks: by their names in package models or by paths of files.
type Models struct{ Detector, Landmarks string }

// Network says which network was measured.
type Network struct {
	Name    string `json:"name"`
	SHA256  string `json:"sha256"`
	Backend string `json:"backend"`
}

// Lowest is the score from which faces are kept; thresholds are above it.
const Lowest = 0.02

// networks are one side of the comparison.
type networks struct {
	find   *vision.Detector
	points *vision.Landmarker // follows its points to the face, as in the program
	once   *vision.Landmarker // the same on the region it is given and no other
	set    *topology.Topology
	solver *track.PoseSolver

	detector, landmarks Network
	closers             []func() error
}

func openNetworks(store *models.Store, names Models, opts infer.Options) (n *networks, err error) {
	n = &networks{}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if err := n.openDetector(store, names.Detector, opts); err != nil {
		return n, err
	}
	return n, n.openLandmarks(store, names.Landmarks, opts)
}

func (n *networks) openDetector(store *models.Store, name string, opts infer.Options) error {
	kind, session, err := store.Detector(name, models.Options{Infer: opts, Unverified: true})
	if err != nil {
		return err
	}
	n.closers = append(n.closers, session.Close)
	if n.detector, err = describe(store, name, session); err != nil {
		return err
	}
	n.find, err = vision.NewDetector(kind, session, vision.DetectorOptions{ScoreThreshold: Lowest, MaxFaces: 256})
	return err
}

func (n *networks) openLandmarks(store *models.Store, name string, opts infer.Options) error {
	nets, err := store.Landmarks(name, models.Options{Infer: opts, Unverified: true})
	if err != nil {
		return err
	}
	n.closers = append(n.closers, nets.Close)
	if n.landmarks, err = describe(store, name, nets.Points); err != nil {
		return err
	}
	if n.points, err = vision.NewLandmarker(nets.Points, nets.Blendshapes, vision.LandmarkerOptions{NoAppearance: true}); err != nil {
		return err
	}
	// Whether a region shows a face is asked afterwards, so that blendshapes are there for faces that the network doubts.
	once := vision.LandmarkerOptions{NoAppearance: true, Retries: -1, PresenceThreshold: 1e-9}
	if n.once, err = vision.NewLandmarker(nets.Points, nets.Blendshapes, once); err != nil {
		return err
	}
	set, head, err := store.Head(name, true)
	if err != nil {
		return err
	}
	n.set = set
	n.solver, err = track.NewPoseSolver(set, head)
	return err
}

func describe(store *models.Store, name string, session infer.Session) (Network, error) {
	data, _, err := store.Read(name, true)
	if err != nil {
		return Network{}, err
	}
	sum := sha256.Sum256(data)
	return Network{Name: base(name), SHA256: hex.EncodeToString(sum[:]), Backend: session.Backend()}, nil
}

// Close frees the networks.
func (n *networks) Close() error {
	var errs []error
	for _, c := range n.closers {
		errs = append(errs, c())
	}
	n.closers = nil
	return errors.Join(errs...)
}

// faces are the detector's of a score.
func (n *networks) faces(m vision.Image) ([]vision.Face, error) {
	faces, err := n.find.Detect(m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.detector.Name, err)
	}
	return faces, nil
}

func above(faces []vision.Face, score float64) (kept []vision.Face) {
	for _, f := range faces {
		if f.Score >= score {
			kept = append(kept, f)
		}
	}
	return kept
}

// look runs the landmark network once on each region.
func (n *networks) look(m vision.Image, rois []vision.ROI) ([]vision.FaceResult, error) {
	return n.run(n.once, m, rois)
}

// follow lets the network follow its points to the face.
func (n *networks) follow(m vision.Image, rois []vision.ROI) ([]vision.FaceResult, error) {
	return n.run(n.points, m, rois)
}

func (n *networks) run(l *vision.Landmarker, m vision.Image, rois []vision.ROI) ([]vision.FaceResult, error) {
	if len(rois) == 0 {
		return nil, nil
	}
	results, err := l.Run(m, rois)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.landmarks.Name, err)
	}
	return results, nil
}

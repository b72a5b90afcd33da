package track

// Options configures a [Tracker]. A zero (or negative) field takes its default.
type Options struct {
	// ConfirmHits is how often a new face must be seen before it is published. Default 3.
	ConfirmHits int
	// TentativeSeconds is how long an unconfirmed face is remembered between two sights. Default 0.5, and
	// never less than 2.5 frames.
	TentativeSeconds float64
	// MemorySeconds is how long a lost identity can be recovered near its expected position. Default 3, and
	// never less than 2.5 frames.
	MemorySeconds float64
	// ReIDSeconds is how long a lost identity can be recovered by appearance alone. Default 300.
	ReIDSeconds float64
	// ReIDSimilarity is the least cosine similarity for recovery by appearance alone. Default 0.6.
	// An identity whose own appearance is steadier than this raises its own bar.
	ReIDSimilarity float64
	// ReIDMargin is by how much the best identity must beat every other one. Default 0.1.
	ReIDMargin float64
	// MinPresence rejects faces with a lower landmark presence. Default 0: none.
	MinPresence float64
	// MaxFaces bounds the faces used of one frame (the most present ones are kept). Default 64.
	MaxFaces int
	// HFOVDegrees is the camera's horizontal field of view. Default 60.
	HFOVDegrees float64
	// Pose fits head poses. Default: the built-in generic head, see [GenericPoseSolver].
	Pose *PoseSolver
	// Gaze tells where eyes look. Default: that of Pose's mesh, see [PoseSolver.Gaze]; a mesh without eyes gives no gaze.
	Gaze *GazeSolver
	// Smoothing configures the One Euro filters.
	Smoothing Smoothing
}

// maxRemembered bounds the identities that are kept for recovery.
const maxRemembered = 64

func (o Options) withDefaults() Options {
	positive(&o.TentativeSeconds, 0.5)
	positive(&o.MemorySeconds, 3)
	positive(&o.ReIDSeconds, 300)
	positive(&o.ReIDSimilarity, 0.6)
	positive(&o.ReIDMargin, 0.1)
	positive(&o.HFOVDegrees, 60)
	if o.ConfirmHits <= 0 {
		o.ConfirmHits = 3
	}
	if o.MaxFaces <= 0 {
		o.MaxFaces = 64
	}
	if o.Pose == nil {
		o.Pose = GenericPoseSolver()
	}
	if o.Gaze == nil {
		o.Gaze = o.Pose.Gaze()
	}
	o.Smoothing = o.Smoothing.withDefaults()
	return o
}

// positive replaces a value that is not a positive number.
func positive(v *float64, fallback float64) {
	if !(*v > 0) {
		*v = fallback
	}
}

package track

// Face is one face of one frame, as the landmark network saw it.
type Face struct {
	Box         [4]float64   // x, y, width, height in px of the full frame, origin top left
	Presence    float64      // 0..1
	Points      [][3]float32 // N × (x, y, z) in px; any N, for head pose those of its solver's set; may be nil
	Blendshapes []float64    // 0..1 each; may be nil
	Appearance  []float64    // L2-normalised descriptor, best with its population mean removed; may be nil
}

// Observation is one frame of one camera.
type Observation struct {
	TimeNS        int64 // capture time on a monotonic clock
	Width, Height int   // frame size in px
	Faces         []Face
}

// Tracked is an identity that was seen on this frame. Its slices belong to the caller, except those
// of Raw, which are the ones that came in.
type Tracked struct {
	ID          int          // 1, 2, …: stable for the life of the Tracker
	Index       int          // which of Observation.Faces it is
	Presence    float64      // as observed
	Box         [4]float64   // smoothed
	Points      [][3]float32 // smoothed
	Blendshapes []float64    // smoothed
	Pose        Pose         // smoothed; meaningful when HasPose
	RawPose     Pose         // as fitted to the raw points
	HasPose     bool
	Gaze        Gaze // smoothed; meaningful when HasGaze
	RawGaze     Gaze // as told from the raw points and RawPose
	HasGaze     bool // at least one eye is open and seen
	Raw         Face // as observed
}

// Rejection says why a face of the observation was not used.
type Rejection struct {
	Index  int // in Observation.Faces
	Reason Reason
}

// Reason is a short constant text, fit for a counter's label.
type Reason string

// Reasons for a rejection.
const (
	ReasonBox         Reason = "box not finite, empty or absurd"
	ReasonOutside     Reason = "box outside the frame"
	ReasonPresence    Reason = "presence not finite or too low"
	ReasonPoints      Reason = "points not finite or absurd"
	ReasonBlendshapes Reason = "blendshapes not finite"
	ReasonAppearance  Reason = "appearance not finite or zero"
	ReasonDuplicate   Reason = "second sight of the same face"
	ReasonTooMany     Reason = "more faces than MaxFaces"
)

// Result is what one frame says about the identities. ID lists are ascending.
type Result struct {
	Faces     []Tracked   // identities seen on this frame, by ID
	Lost      []int       // published on the frame before, not seen on this one
	Born      []int       // published for the first time
	Recovered []int       // published again after an absence
	Tentative []int       // indices into Observation.Faces: used, but not (yet) anybody
	Rejected  []Rejection // faces that were not used
}

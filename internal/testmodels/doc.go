// Package testmodels builds tiny networks that find and follow the drawn faces of `synthetic:` sources, so that
// the whole pipeline can be tested without any downloaded model.
//
// The networks have the inputs and outputs of the real ones. Their weights are not trained but calculated: redness
// (how far red exceeds green and blue) tells a drawn face from its background, and the first moments of redness,
// which are linear in the pixels, give its place to a fraction of a pixel. They hold for 4:3 frames with faces of
// the default size.
package testmodels

// Diameter of a drawn face as a fraction of the frame's height.
const faceHeights = 1.0 / 5

// What eyes and mouth take away from the disc, in squared and cubed diameters: two discs of radius 0.06 at
// y = -0.12, and a bar of 0.36 × 0.05 at y = 0.2.
const (
	discArea   = 0.785398
	eyesArea   = 2 * 3.141593 * 0.06 * 0.06
	mouthArea  = 0.36 * 0.05
	faceArea   = discArea - eyesArea - mouthArea
	faceMoment = -(eyesArea*-0.12 + mouthArea*0.2)
	centroidY  = faceMoment / faceArea // diameters below the disc's centre
)

// skinRedness is red minus the mean of green and blue of a drawn face's skin, 0..255; redFloor keeps noise out.
const (
	skinRedness = 220 - 40
	redFloor    = 20
)

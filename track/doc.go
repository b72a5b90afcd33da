// Package track turns the faces that a landmark network finds on each frame of one camera into
// people: small stable identities, smoothed measurements and head pose in degrees and centimetres.
// It is plain Go on plain values: no messages, no pixels, no cgo.
//
// # Identities
//
// A [Tracker] holds the state of one camera; [Tracker.Update] takes one frame's faces and says who
// is who. Position and size are predicted with constant velocity; predicted position, overlap, size,
// landmark shape and appearance add up to a cost in log-likelihood units, and the cheapest gated
// assignment of faces to identities wins. Three horizons follow a missing identity:
//
//	Options.MemorySeconds  it may come back near where it is expected, if its appearance agrees
//	Options.ReIDSeconds    it may come back anywhere, by appearance alone, when only it matches
//	later                  its number is never used again
//
// A face nobody claims is tentative. Nothing is published about it until it has been seen
// Options.ConfirmHits times (3): a ghost that lasts one or two frames never becomes a person, and a
// real newcomer appears two frames late. Nothing is published retroactively, so a frame's result is
// final when it leaves. [Result.Tentative] lists such faces for callers that keep following them.
// An identity is only published on frames where its face was really seen; it is never extrapolated.
//
// How much a descriptor varies on one person is learnt per identity, and every comparison is judged
// by it. While another face overlaps, appearance is neither learnt nor trusted much, and a newcomer
// that may be somebody missing waits for its number for up to two seconds. Without descriptors
// identities still survive misses and crossings that keep their course, but cannot be told apart
// after an absence. People who look the same to the descriptor get new numbers rather than wrong ones.
//
// # Smoothing
//
// Measurements pass a One Euro filter driven by the real time stamps ([OneEuro], [Smoothing]).
// Speeds of points and boxes are measured in face sizes per second, so one setting smooths equally
// at every resolution and distance. [Tracked] holds the raw values beside the smoothed ones.
//
// # Head pose
//
// A [PoseSolver] fits a rigid face model to the 2-D points through a pinhole [Camera]: the mean head of the points' set
// (package topology), or an average one. Points of another set get no pose. The camera
// frame is OpenCV's, in centimetres, origin in the pinhole, for an image that is not mirrored:
//
//	          z forward, into the scene
//	         /
//	camera  o----> x image right (the subject's left when facing the camera)
//	        |
//	        v
//	        y image down
//
// The head's axes point the same way when the face looks straight against the z axis (all angles 0):
// x towards the subject's left, y towards the chin, z out at the back of the head. With R taking head
// coordinates to camera coordinates, and R_x, R_y, R_z right-handed rotations about the camera axes,
//
//	R = R_y(-yaw) · R_x(-pitch) · R_z(-roll)
//
//	yaw   > 0: the subject turns towards their own left;  the nose moves to image right
//	pitch > 0: the subject looks up;                      the nose moves to image top
//	roll  > 0: the head tilts to the subject's right shoulder; its top moves to image left
//
// Yaw and roll lie in [-180, 180], pitch in [-90, 90]. Angles refer to the camera's axes, not to the
// line of sight: a face at the image border that looks into the lens has a yaw. The position is that
// of the model's origin, inside the head about 5 cm behind and 3 cm below the nasal bridge.
//
// The field of view matters: depth is proportional to the assumed focal length, so a camera taken for
// 60° that really has 70° puts a head from 60 cm to 73 cm. Angles suffer less: this same error costs
// less than 1° for a face in the middle of the image and about 5° at its border.
//
// # Gaze
//
// A [GazeSolver] tells for each eye where its ball is (cm) and where its optical axis points, in the same camera
// frame. Like OpenFace 2.0 (T. Baltrušaitis, A. Zadeh, Y. C. Lim, L.-P. Morency: OpenFace 2.0: Facial Behavior Analysis
// Toolkit. FG 2018, after E. Wood et al.: Rendering of Eyes for Eye-Shape Registration and Gaze Estimation. ICCV 2015) it
// meets the ray through the iris with a ball that is anchored at the corners of the eye: each corner is taken where it
// is seen, at the depth that the head pose gives it; the ball's centre lies behind and above the middle of both along the
// head's axes, as far as the set of points says (0.45 cm and 0.2 cm for the public networks'), and the iris 1.05 cm from that centre.
//
// Pitch and yaw have the signs of the head pose: a head with these angles would face where the eyes look. They too refer
// to the camera's axes; who looks into the lens from beside them has a yaw. An eye is not valid while it is closed, turned
// away from the camera, or looks more than 60° away from where its head faces; a ray that just misses the ball counts
// where it passes closest. [Tracked] says nothing about gaze while no eye is valid.
//
// Nothing is calibrated to the person, and that limits what can be expected. People look along the visual axis, which
// lies about 5° nasally of the optical one (angle kappa, different in everybody): the two eyes of somebody who looks into the
// distance point about 5° outwards each, which cancels in the mean of both. An eyeball 1 mm off its place costs 5°. With the public networks three
// people who look into the lens of a photograph were off by 0.6°, 0.7° and 2.4° (each eye of the first by 5° outwards); of
// two who nod by 6.5° and 8.1° (SD) the gaze keeps within 2.2° and 4.6°. For an unknown person expect
// 5° to 10°; no recordings with known gaze were measured. Noise comes on top: 0.3 px on every point is 3.7° RMS an eye and 2.7° for
// both at 60 cm in an image 640 px wide, heads turned by up to 30° and eyes by up to 25°; smoothing halves it. So gaze
// tells at which person or where on a wall somebody looks, and how that changes; for a place on a screen calibrate with
// known targets. The wrong field of view of the example above costs gaze less than 1° in the middle and 6° at the border.
package track

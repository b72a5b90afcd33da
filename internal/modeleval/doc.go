// Package modeleval measures a face detector and a face network beside the public ones on photographed faces, and against the truth
// of rendered pictures that no training has seen. All networks run as they do in the program: frames from package source, through
// vision and infer.
//
// # Detection
//
// A face is wanted when the reference detector (YuNet at 640 px) gives it a score of 0.8 and a side of 32 px; the side of a box is the
// root of its area. It is found when a box above our threshold has an IoU of 0.5 with it. Faces are followed through a clip by their
// boxes' IoU (0.3, gaps of up to 10 frames); one that is there in 5 frames, or in half of a shorter clip, counts by itself, others only
// in the sums. A box of ours of 32 px is a false alarm when it has no IoU of 0.3 with any box to which the reference gives 0.3.
//
// # Points
//
// The 68 points of Multi-PIE stand for both sets. The reference's points come from the region that its own points of a first look give,
// as while it follows a face. Ours are measured from that same region, and from the regions of our own loop: our detector on every
// frame, then regions from our own points of the frame before. The difference of two faces is the mean distance of their points over
// the distance between the reference's outer corners of the eyes; faces whose yaw exceeds 60° by the reference are kept apart. The
// offset of a point is its mean difference in the face's own axes: x from the subject's right eye to the left one, y to the chin. What
// remains when offsets are taken off is no matter of where a point is defined to be.
//
// # Expressions, pose, presence
//
// Blendshapes are compared on faces that are not turned away, from the same region. A coefficient varies in a clip when the standard
// deviation of the reference's is 0.02. Pooled correlations are over all faces of all clips, and once more with each face's own mean
// taken off. Poses are those of track.PoseSolver, at 60° field of view. Regions without a face are squares at random places that no box
// of a face reaches into.
//
// # Rendered pictures
//
// Average precision is that of training/metrics.py: a face counts when 30 % of its points are seen, half of its box lies within the
// picture and its side reaches the limit; others may be found or not, and what overlaps them by 0.3 is not counted. Points and
// coefficients count on faces of which 30 % of the points are seen. The 68 points' error is in parts of the distance between the outer
// corners of the eyes, in three dimensions, in which it does not shrink as a head turns, and also in two.
//
// The two sets of points are not the same places of a face. How far they are apart by definition shows on rendered faces, where the
// reference's points are compared with the true ones: faces up to 60° of yaw of which 70 % of the points are seen and in which the
// reference sees a face. The report gives these offsets beside those of photographs.
package modeleval

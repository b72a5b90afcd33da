// Package truth reads what is known of a rendered clip and tells how far a recording of it is from that.
//
// The file is JSON, plain or gzipped; training/clip.py writes it:
//
//	{"format": "facetrack-truth-1", "width": 640, "height": 480, "fps": 25, "focal": 554.256, "frames": [[PERSON, …], …]}
//
// with one list of people for each frame. Pixels have their origin at the top left corner of the picture, x right, y down; focal is that of a
// pinhole whose axis meets the middle of the picture. A person is
//
//	id            the same in all frames
//	box           x, y, width, height: from the usual hairline to the chin and sideways to where the ears begin; what is hidden counts
//	shown         how much of the face the camera sees of what the head itself does not hide, 0 to 1
//	five          right eye, left eye, tip of the nose, right and left corner of the mouth
//	points        the 68 of the Multi-PIE scheme
//	hidden        indices of those of them that the camera does not see; [] for none
//	coefficients  52, in the order of vision.BlendshapeNames
//	pose          pitch, yaw, roll in degrees, as package track defines them
//	position      of the head's origin, cm, in the camera's axes
//	gaze          {"left": [pitch, yaw], "right": …}: the optical axes relative to the head, degrees, with the signs of the pose
//
// Left and right are the subject's.
//
// [Compare] finds the frame of a recorded line by its media time, which goes on when a clip is played again; frames that were dropped
// are no matter. In each frame faces and people are paired by the overlap of their boxes, the most overlapping first. Then it tells:
// how many people were found and how many faces are nobody's; the distance of the 68 points in parts of the distance between the outer
// corners of the eyes, points that the camera does not see left out; the angle between head rotations and between looks; how far
// coefficients are off; and how often somebody's identity became another. People of whom less than [Clear] is shown count
// neither as missed nor, if they are found, as anything.
package truth

// Package streams makes of a rig's messages what laboratories record: for each participant a stream of expression, of the head, of the
// gaze and, if asked for, of all points; one of events; and for each pair of participants one of synchrony. They go to a [Sink]: Lab
// Streaming Layer or a file.
//
// A participant is one of the configuration, or who has a number in a camera that names nobody. Their streams open with the first
// frame of their camera, whether or not they are in it, so that a recorder can select them before anybody is seen; those of numbers
// beyond lsl.slots open when they are seen.
//
// # Rows
//
// Each frame of a camera is one row of each stream of its participants. Of who is not in it the values are NaN and the confidence is
// 0, and so it is in a stream whose values the frame does not tell, as the gaze of closed eyes; every row has the number of its frame. Rows
// are stamped with the instant at which the picture was taken: when its frame came, less the camera's latency_ms, which the description
// declares as compensated_lag. Recordings that are read as fast as possible keep the time within them, from the first frame of any on. Numbers are float32: a FrameNumber is exact up to
// 2^24, 6 days at 30 frames per second.
//
//	type            channels
//	FaceExpression  52 scores of 0 to 1: _neutral and 51 by their ARKit names; Confidence, FrameNumber
//	MoCap           head: position X Y Z, m; quaternion w x y z; pitch, heading, roll, degrees; Confidence, FrameNumber
//	Gaze            eyes left and right: position X Y Z, m, direction X Y Z; of both: direction, pitch, heading; Confidence, FrameNumber
//	FaceMesh        all points X Y Z, px of the frame; Confidence, FrameNumber
//	Synchrony       for each compared channel and their mean the measures of package track/synchrony
//	Markers         events as JSON
//
// Positions and directions are in the frame of the camera as package track draws it: x right in the picture, y down, z into the scene.
// Positions assume a field of view and a distance between the pupils. They are NaN where the configuration does not know the camera's
// hfov_degrees; the distance is the participant's interocular_mm.
//
// # Events
//
//	{"event":"participant_appears","participant":"mother","camera":"cam0","frame":41}
//	{"event":"participant_lost","participant":"mother","camera":"cam0","frame":977}
//	{"event":"camera_lost","camera":"cam0","frame":1200,"reason":"silent"}
//	{"event":"camera_back","camera":"cam0","frame":1201}
//	{"event":"resolution","camera":"cam0","frame":1300,"width":1280,"height":720}
//	{"event":"transport","camera":"cam0","stage":"detect","transport":"shm","reason":"cuda-ipc: …"}
//
// Somebody is lost who is in no frame for a second, a camera that gives none for two, or three of its frames' distance, or says that it ends. Both are told then, with
// the stamp and the number of the first frame without them, and of the last frame there was.
package streams

package streams

import (
	"fmt"
	"slices"
	"strconv"

	"facetrack/internal/version"
	"facetrack/lsl"
)

// info describes a participant's stream. The rate is 0: frames can be missing, and importers must not spread the samples evenly.
func (p *person) info(k kind) lsl.StreamInfo {
	label, id := p.label()
	channels := slices.Concat(k.channels, book)
	info := lsl.StreamInfo{
		Name: fmt.Sprintf("facetrack %s %s %s", p.camera.set.cfg.Rig, label, k.name), Type: k.contentType,
		ChannelCount: len(channels), Format: lsl.Float32, SourceID: id + ":" + k.name,
		Desc: lsl.Desc{Channels: channels, Acquisition: p.acquisition(), Synchronization: &lsl.Synchronization{CanDropSamples: true}},
	}
	if k.setup != nil {
		info.Desc.Setup = k.setup(p)
	}
	return info
}

func (p *person) acquisition() *lsl.Acquisition {
	c := p.camera
	return &lsl.Acquisition{
		Manufacturer: "facetrack", Model: c.set.cfg.Landmarks.Model,
		Fields: []*lsl.Element{
			lsl.Leaf("version", version.Commit()),
			lsl.Leaf("participant", p.key()),
			lsl.Leaf("camera", c.cfg.Name),
			lsl.Node("resolution", lsl.Leaf("width", strconv.Itoa(c.size[0])), lsl.Leaf("height", strconv.Itoa(c.size[1]))),
			lsl.Leaf("compensated_lag", number(c.cfg.LatencyMS/1000)),
		},
	}
}

func headFrame(p *person) *lsl.Setup {
	return cameraFrame(p,
		lsl.Leaf("position_of", "a point inside the head, about 5 cm behind and 3 cm below the bridge of the nose between the eyes"),
		lsl.Leaf("orientation", "takes the head's axes to the camera's; all 0 for a face that looks straight into the camera's z axis"),
		axesOf("head_axes", "", "towards the subject's left", "towards the chin", "out at the back of the head"),
	)
}

func gazeFrame(p *person) *lsl.Setup {
	return cameraFrame(p,
		lsl.Leaf("position_of", "the centre of the eyeball"),
		lsl.Leaf("direction_of", "the eye's optical axis, not calibrated to the person"),
	)
}

// cameraFrame describes the axes of positions and directions, what distances rest on, and more.
func cameraFrame(p *person, more ...*lsl.Element) *lsl.Setup {
	hfov := "unknown"
	if p.camera.cfg.HFOV > 0 {
		hfov = number(p.camera.cfg.HFOV)
	}
	return &lsl.Setup{Name: "camera " + p.camera.cfg.Name, Fields: slices.Concat([]*lsl.Element{
		axes("pinhole of the camera", "right in the picture", "down", "into the scene"),
		lsl.Leaf("hfov_degrees", hfov),
		lsl.Leaf("assumed_interocular_distance_mm", number(p.who.InterocularMM)),
		lsl.Node("signs", lsl.Leaf("pitch", "up"), lsl.Leaf("heading", "towards the subject's own left"), lsl.Leaf("roll", "towards the subject's right shoulder")),
	}, more)}
}

func pictureFrame(p *person) *lsl.Setup {
	return &lsl.Setup{Name: "picture of camera " + p.camera.cfg.Name, Fields: []*lsl.Element{
		axes("top left", "right", "down", "away from the camera, in the scale of x"),
		lsl.Leaf("topology", p.camera.points.Name),
	}}
}

func axes(origin, x, y, z string) *lsl.Element { return axesOf("axes", origin, x, y, z) }

func axesOf(name, origin, x, y, z string) *lsl.Element {
	e := lsl.Node(name, lsl.Leaf("x", x), lsl.Leaf("y", y), lsl.Leaf("z", z))
	if origin != "" {
		e.Add(lsl.Leaf("origin", origin))
	}
	return e
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

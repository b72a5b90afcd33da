package ipc

import "facetrack/ipc/internal/wire"

// Gaze is where a face looks, in the camera frame (x right, y down, z forward); package track says how it is told and how
// far it can be trusted.
type Gaze struct {
	Pitch float64 `json:"pitch"` // degrees, of both eyes together; > 0: up
	Yaw   float64 `json:"yaw"`   // degrees; > 0: towards the subject's own left
	Left  *Eye    `json:"left"`  // the subject's own left; nil while it is closed or cannot be seen
	Right *Eye    `json:"right"` // at least one of the two is there
}

// Eye is where one eye is and where it looks.
type Eye struct {
	Origin    [3]float64 `json:"origin_cm"` // centre of the eyeball, cm
	Direction [3]float64 `json:"direction"` // of the optical axis, length 1
}

var (
	gazeFields = []string{"pitch", "yaw", "left", "right"}
	eyeFields  = []string{"origin_cm", "direction"}
)

func (g *Gaze) encode(e *wire.Encoder) {
	if g == nil {
		e.Raw("null")
		return
	}
	e.Float(`{"pitch":`, g.Pitch, poseDecimals)
	e.Float(`,"yaw":`, g.Yaw, poseDecimals)
	e.Raw(`,"left":`)
	g.Left.encode(e)
	e.Raw(`,"right":`)
	g.Right.encode(e)
	e.Raw("}")
}

func (y *Eye) encode(e *wire.Encoder) {
	if y == nil {
		e.Raw("null")
		return
	}
	e.Floats(`{"origin_cm":`, y.Origin[:], poseDecimals)
	e.Floats(`,"direction":`, y.Direction[:], directionDecimals)
	e.Raw("}")
}

func decodeGaze(c *wire.Cursor) *Gaze {
	if c.Null() {
		return nil
	}
	g := new(Gaze)
	c.Fields(gazeFields, func(i int) {
		switch i {
		case 0:
			g.Pitch = c.Float()
		case 1:
			g.Yaw = c.Float()
		case 2:
			g.Left = decodeEye(c)
		case 3:
			g.Right = decodeEye(c)
		}
	})
	return g
}

func decodeEye(c *wire.Cursor) *Eye {
	if c.Null() {
		return nil
	}
	y := new(Eye)
	seen := c.Fields(eyeFields, func(i int) {
		if i == 0 {
			c.Fixed(y.Origin[:])
		} else {
			c.Fixed(y.Direction[:])
		}
	})
	c.Require(eyeFields, seen, 1<<0|1<<1)
	return y
}

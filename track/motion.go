package track

import "math"

const (
	dampingSeconds = 0.7  // an unseen face slows down with this time constant
	blindSeconds   = 1.5  // the prediction's uncertainty stops growing after this time
	accelDensity   = 12.0 // white acceleration, face sizes²/s³
	zoomDensity    = 0.5  // the same for the logarithm of size, 1/s³
	positionNoise  = 0.03 // a box centre's standard deviation, face sizes
	sizeNoise      = 0.04 // a log size's standard deviation
)

// axis is a constant-velocity Kalman filter of one coordinate.
type axis struct {
	x, v          float64
	pxx, pxv, pvv float64 // covariance
}

// ahead returns the axis after seconds without a measurement, for a white acceleration of density q.
func (a axis) ahead(seconds, q float64) axis {
	decay := math.Exp(-seconds / dampingSeconds)
	reach := dampingSeconds * (1 - decay)
	dt := math.Min(seconds, blindSeconds)
	return axis{
		x: a.x + reach*a.v, v: decay * a.v,
		pxx: a.pxx + 2*reach*a.pxv + reach*reach*a.pvv + q*dt*dt*dt/3,
		pxv: decay*(a.pxv+reach*a.pvv) + q*dt*dt/2,
		pvv: decay*decay*a.pvv + q*dt,
	}
}

// correct takes a measurement with variance r.
func (a *axis) correct(measured, r float64) {
	gain := a.pxx / (a.pxx + r)
	speedGain := a.pxv / (a.pxx + r)
	diff := measured - a.x
	a.x += gain * diff
	a.v += speedGain * diff
	a.pvv -= speedGain * a.pxv
	a.pxx *= 1 - gain
	a.pxv *= 1 - gain
}

// motion is a face's position in px and the logarithm of its size, with their speeds.
type motion struct {
	x, y, log axis
	aspect    float64 // width / height of the last box
}

func newMotion(c *candidate) motion {
	still := func(at, noise, speed float64) axis {
		return axis{x: at, pxx: noise * noise, pvv: speed * speed}
	}
	return motion{
		x:      still(c.x, positionNoise*c.size, 2*c.size),
		y:      still(c.y, positionNoise*c.size, 2*c.size),
		log:    still(math.Log(c.size), sizeNoise, 0.5),
		aspect: c.face.Box[2] / c.face.Box[3],
	}
}

// ahead predicts the motion after seconds.
func (m motion) ahead(seconds float64) motion {
	q := accelDensity * m.size() * m.size()
	m.x = m.x.ahead(seconds, q)
	m.y = m.y.ahead(seconds, q)
	m.log = m.log.ahead(seconds, zoomDensity)
	return m
}

// correct takes the face that was seen.
func (m *motion) correct(c *candidate) {
	r := positionNoise * c.size
	m.x.correct(c.x, r*r)
	m.y.correct(c.y, r*r)
	m.log.correct(math.Log(c.size), sizeNoise*sizeNoise)
	m.aspect = c.face.Box[2] / c.face.Box[3]
}

// size is the face size in px, kept in a range where its square is harmless.
func (m *motion) size() float64 { return math.Exp(math.Max(-5, math.Min(15, m.log.x))) }

// box is the face's box at the present state.
func (m *motion) box() [4]float64 {
	w := m.size() * math.Sqrt(m.aspect)
	h := m.size() / math.Sqrt(m.aspect)
	return [4]float64{m.x.x - w/2, m.y.x - h/2, w, h}
}

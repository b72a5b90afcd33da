package wire

import "fmt"

// Floats reads an array of at most limit numbers.
func (c *Cursor) Floats(limit int) []float64 {
	values := make([]float64, 0, min(limit, 64))
	c.Elements(limit, func(int) { values = append(values, c.Float()) })
	return values
}

// Uints reads an array of at most limit unsigned integers.
func (c *Cursor) Uints(limit int) []uint64 {
	values := []uint64{}
	c.Elements(limit, func(int) { values = append(values, c.Uint()) })
	return values
}

// Sizes reads an array of at most limit integers from 0 to 2³¹−1.
func (c *Cursor) Sizes(limit int) []int {
	values := []int{}
	c.Elements(limit, func(int) { values = append(values, c.Size()) })
	return values
}

// Fixed reads an array of exactly len(out) numbers.
func (c *Cursor) Fixed(out []float64) {
	n := 0
	c.Elements(len(out), func(i int) { out[i] = c.Float(); n++ })
	if n != len(out) {
		c.Fail(fmt.Errorf("%w: %d numbers expected, found %d", ErrType, len(out), n))
	}
}

// Points2 reads an array of at most limit [x,y].
func (c *Cursor) Points2(limit int) [][2]float64 {
	points := [][2]float64{}
	c.Elements(limit, func(int) {
		var p [2]float64
		c.Fixed(p[:])
		points = append(points, p)
	})
	return points
}

// Points3 reads an array of at most limit [x,y,z].
func (c *Cursor) Points3(limit int) [][3]float32 {
	points := make([][3]float32, 0, min(limit, 480))
	c.Elements(limit, func(int) {
		var p [3]float32
		if c.expect('[', "[x,y,z]") {
			p[0] = c.Float32()
			c.expect(',', "','")
			p[1] = c.Float32()
			c.expect(',', "','")
			p[2] = c.Float32()
			c.expect(']', "']'")
		}
		points = append(points, p)
	})
	return points
}

package wire

// Floats appends the field with an array of numbers; nil is written as [].
func (e *Encoder) Floats(key string, values []float64, decimals int) {
	e.Each(key, len(values), func(i int) { e.number("", values[i], decimals) })
}

// Uints appends the field with an array of unsigned integers.
func (e *Encoder) Uints(key string, values []uint64) {
	e.Each(key, len(values), func(i int) { e.Uint("", values[i]) })
}

// Ints appends the field with an array of integers.
func (e *Encoder) Ints(key string, values []int) {
	e.Each(key, len(values), func(i int) { e.Int("", int64(values[i])) })
}

// Points2 appends the field with an array of [x,y].
func (e *Encoder) Points2(key string, points [][2]float64, decimals int) {
	e.Each(key, len(points), func(i int) { e.Floats("", points[i][:], decimals) })
}

// Points3 appends the field with an array of [x,y,z].
func (e *Encoder) Points3(key string, points [][3]float32, decimals int) {
	e.Each(key, len(points), func(i int) { e.point3(&points[i], decimals) })
}

func (e *Encoder) point3(p *[3]float32, decimals int) {
	for j, open := range [3]byte{'[', ',', ','} {
		e.buf = append(e.buf, open)
		if e.number("", float64(p[j]), decimals); e.err != nil {
			e.path = "[" + string("xyz"[j]) + "]"
			return
		}
	}
	e.buf = append(e.buf, ']')
}

package image

import (
	"encoding/binary"
	"fmt"

	"facetrack/vision"
)

// Letterbox is how frames of one geometry are fitted into a network's input.
type Letterbox struct {
	size, step    int
	format        vision.Format
	width, height int
	plan          vision.LetterboxPlan
	table         []byte
	columns       int // words in front of the columns' part of the table
}

// What letterbox.cu keeps in shared memory.
const (
	spanBytes   = 20480
	mostColumns = 512
)

// LetterboxBytes is the size of an item in device memory; an array of them begins at a multiple of 8. At LetterboxMapping of each
// lies the vision.Mapping, three float64 that package faces reads.
const (
	LetterboxBytes   = 88
	LetterboxMapping = 64
)

// NewLetterbox plans for inputs of size × size pixels. Errors wrap vision.ErrImage.
func NewLetterbox(format vision.Format, width, height, size int) (*Letterbox, error) {
	plan, err := vision.PlanLetterbox(size, format, width, height)
	if err != nil {
		return nil, err
	}
	l := &Letterbox{size: size, format: format, width: width, height: height, plan: plan}
	l.step = min(size, mostColumns)
	if plan.X.Count > 0 {
		l.step = min(l.step, l.columnsOfSpan())
		l.tabulate()
	}
	if l.step < 1 {
		return nil, fmt.Errorf("%w: %d×%d pixels are too many for an input of %d", vision.ErrImage, width, height, size)
	}
	if l.step > 16 && l.step < size {
		l.step -= l.step % 16 // passes begin where 16-byte stores may
	}
	return l, nil
}

// columnsOfSpan is how many output columns have their source pixels in one pass, with a pixel more on each side for rounding.
func (l *Letterbox) columnsOfSpan() int {
	bytes := map[vision.Format]float64{vision.BGR: 3, vision.NV12: 2, vision.YUYV: 2}[l.format] // of a row, chroma included
	margin := bytes*float64(l.plan.X.Count+2) + 2*float64(l.plan.ChromaX.Count+2)*2 + 64
	return int((spanBytes - margin) / (bytes * l.plan.Scale))
}

// Mapping leads from the input back to the frame.
func (l *Letterbox) Mapping() vision.Mapping { return l.plan.Mapping }

// Table is what the kernel reads beside the item: the same for all frames of the geometry, at a multiple of 4 in device memory.
// It is empty when the picture is enlarged.
func (l *Letterbox) Table() []byte { return l.table }

// Append adds the item of a frame, whose table is at an address. Errors wrap ErrLaunch.
func (l *Letterbox) Append(dst []byte, frame, table uint64) ([]byte, error) {
	f := Frame{Address: frame, Format: l.format, Width: l.width, Height: l.height}
	if err := f.check(); err != nil {
		return dst, err
	}
	if table%4 != 0 || table == 0 && len(l.table) > 0 {
		return dst, fmt.Errorf("%w: a table at the address %#x, which must be a multiple of 4", ErrLaunch, table)
	}
	p := l.plan
	dst = binary.LittleEndian.AppendUint64(f.append(dst), table)
	dst = words(dst, uint32(p.Cols), uint32(p.Rows), uint32(p.OffsetX), uint32(p.OffsetY),
		uint32(l.step), uint32(l.columns), uint32(p.X.Count), uint32(p.ChromaX.Count))
	return doubles(dst, p.Scale, p.OffsetX, p.OffsetY), nil
}

// tabulate writes the table in the order that letterbox.cu describes.
func (l *Letterbox) tabulate() {
	const wordsOfRow = 8
	var filters, weights []uint32
	add := func(b vision.Boxes, y int) {
		first, some := trimmed(b, y)
		filters = append(filters, uint32(first), uint32(len(some)), uint32(wordsOfRow*l.plan.Rows+len(weights)), 0)
		weights = append(weights, some...)
	}
	for y := range l.plan.Rows {
		add(l.plan.Y, y)
		add(l.plan.ChromaY, y)
	}
	l.columns = len(filters) + len(weights)
	l.table = words(words(nil, filters...), weights...)
	l.table = words(words(l.table, firsts(l.plan.X, l.plan.Cols)...), firsts(l.plan.ChromaX, l.plan.Cols)...)
	l.table = words(words(l.table, byTap(l.plan.X)...), byTap(l.plan.ChromaX)...)
}

// trimmed are the weights of output y without the zeros at their ends, so that no row is read in vain.
func trimmed(b vision.Boxes, y int) (first int, weights []uint32) {
	if b.Count == 0 {
		return 0, nil
	}
	all, from, end := b.Weights[y*b.Count:(y+1)*b.Count], 0, b.Count
	for all[from] == 0 {
		from++
	}
	for all[end-1] == 0 {
		end--
	}
	for _, w := range all[from:end] {
		weights = append(weights, uint32(w))
	}
	return b.First[y] + from, weights
}

func firsts(b vision.Boxes, n int) []uint32 {
	out := make([]uint32, n)
	for i, f := range b.First {
		out[i] = uint32(f)
	}
	return out
}

// byTap has the weights of all outputs for the first tap, then for the second and so on.
func byTap(b vision.Boxes) []uint32 {
	out := make([]uint32, 0, len(b.Weights))
	for k := range b.Count {
		for i := range b.First {
			out = append(out, uint32(b.Weights[i*b.Count+k]))
		}
	}
	return out
}

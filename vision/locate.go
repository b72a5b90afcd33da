package vision

import (
	"fmt"
	"math"

	"facetrack/infer"
)

// Run returns one result per region, in order, present or not. A region below the presence threshold is
// tried again, Retries times at most, where its own points say the face is: a detector's key points follow
// a tilted head poorly. A result found so carries the region that gave it; without success the first stays.
func (l *Landmarker) Run(m Image, rois []ROI) ([]FaceResult, error) {
	results, err := l.locateAll(m, rois)
	if err != nil {
		return nil, err
	}
	if err := l.retry(m, results); err != nil {
		return nil, err
	}
	return results, l.describe(m, results)
}

// retry replaces results that are not present by those of better regions.
func (l *Landmarker) retry(m Image, results []FaceResult) error {
	origins := make([]ROI, len(results))
	for i, r := range results {
		origins[i] = r.ROI
	}
	latest := append([]FaceResult(nil), results...)
	for range l.opts.Retries {
		var rois []ROI
		var index []int
		for i, r := range latest {
			if results[i].Presence >= l.opts.PresenceThreshold {
				continue
			}
			if next, err := r.Next(); err == nil && next.Follows(origins[i]) {
				rois, index = append(rois, next), append(index, i)
			}
		}
		again, err := l.locateAll(m, rois)
		if err != nil {
			return err
		}
		for k, i := range index {
			latest[i] = again[k]
			if again[k].Presence >= l.opts.PresenceThreshold {
				results[i] = again[k]
			}
		}
	}
	return nil
}

// Follows tells that a retried region still looks at the face of its origin.
func (r ROI) Follows(origin ROI) bool {
	return math.Hypot(r.CX-origin.CX, r.CY-origin.CY) < origin.Size/2/Margin &&
		r.Size > origin.Size/2 && r.Size < origin.Size*2
}

// locateAll finds the points of each region, MaxBatch at a time.
func (l *Landmarker) locateAll(m Image, rois []ROI) ([]FaceResult, error) {
	results := make([]FaceResult, 0, len(rois))
	for len(rois) > 0 {
		n := min(len(rois), l.opts.MaxBatch)
		part, err := l.locate(m, rois[:n])
		if err != nil {
			return nil, err
		}
		results = append(results, part...)
		rois = rois[n:]
	}
	return results, nil
}

func (l *Landmarker) locate(m Image, rois []ROI) ([]FaceResult, error) {
	n, each := len(rois), l.size*l.size*3
	for i, r := range rois {
		if err := l.cropper.Fill(l.in[i*each:(i+1)*each], m, r); err != nil {
			return nil, fmt.Errorf("region %d: %w", i, err)
		}
	}
	out := make([]infer.Buffer, len(l.out))
	for i, n1 := range l.outLens {
		out[i].Host = l.out[i].Host[:n*n1]
	}
	if err := l.session.Run(n, []infer.Buffer{{Host: l.in[:n*each]}}, out); err != nil {
		return nil, fmt.Errorf("vision: face points: %w", err)
	}
	for _, i := range l.outputs.read() {
		if !finite(out[i].Host) {
			return nil, fmt.Errorf("%w: face points", ErrNonFinite)
		}
	}
	results := make([]FaceResult, n)
	for i, r := range rois {
		results[i] = l.decode(r, func(output int) []float32 {
			if output < 0 {
				return nil
			}
			return out[output].Host[i*l.outLens[output] : (i+1)*l.outLens[output]]
		})
	}
	return results, nil
}

// decode makes a face of its share of the outputs.
func (l *Landmarker) decode(r ROI, of func(output int) []float32) FaceResult {
	o := &l.outputs
	f := FaceResult{ROI: r, Presence: sigmoid(float64(of(o.Presence)[0])), Points: decodePoints(of(o.Points), r, l.size)}
	for _, spread := range of(o.Spread) {
		f.Confidence = append(f.Confidence, Confidence(float64(spread)))
	}
	if turn := doubles(of(o.Turn)); turn != nil {
		if t, ok := NewTurn([turnValues]float64(turn), r.Rotation); ok {
			f.Turn = &t
		}
	}
	if f.Presence >= l.opts.PresenceThreshold {
		f.Blendshapes = doubles(of(o.Coefficients))
	}
	return f
}

// doubles are nil for no values.
func doubles(values []float32) (out []float64) {
	for _, v := range values {
		out = append(out, float64(v))
	}
	return out
}

// decodePoints maps x, y, z in pixels of an input of size × size to the frame.
func decodePoints(raw []float32, r ROI, size int) [][3]float64 {
	toFrame, toSize := r.affine(), 1/float64(size)
	points := make([][3]float64, len(raw)/3)
	for i := range points {
		x, y := toFrame(float64(raw[3*i])*toSize, float64(raw[3*i+1])*toSize)
		points[i] = [3]float64{x, y, float64(raw[3*i+2]) * toSize * r.Size}
	}
	return points
}

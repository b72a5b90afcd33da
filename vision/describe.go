package vision

import "slices"

// describe adds blendshapes and appearance to the faces that are present.
func (l *Landmarker) describe(m Image, results []FaceResult) error {
	var present []*FaceResult
	for i := range results {
		if results[i].Presence >= l.opts.PresenceThreshold {
			present = append(present, &results[i])
		}
	}
	if l.shapes != nil {
		for part := range slices.Chunk(present, l.opts.MaxBatch) {
			if err := l.shapes.run(part); err != nil {
				return err
			}
		}
	}
	if l.looks == nil {
		return nil
	}
	for _, f := range present {
		if r, err := f.Next(); err == nil { // points that collapsed have no looks
			if f.Appearance, err = l.looks.describe(m, r); err != nil {
				return err
			}
		}
	}
	return nil
}

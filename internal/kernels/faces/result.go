package faces

import (
	"fmt"
	"math"

	"facetrack/vision"
)

// Result is a face's record.
type Result struct {
	vision.FaceResult
	Box     vision.Box // of the points
	Region  vision.ROI // where to look in the next frame
	HasNext bool       // that region can be cut; else the points collapsed or left the frame far behind
}

// With tells what besides points was written into the records.
type With struct{ Blendshapes, Appearance bool }

// Parse reads the record of a face that was looked for in a region. Blendshapes and appearance are left out below the presence
// threshold, as in package vision. An error wraps vision.ErrNonFinite.
func (m Mesh) Parse(record []byte, r vision.ROI, threshold float64, with With) (Result, error) {
	flags := word(record, flagsWord)
	if flags&finiteFlag == 0 {
		return Result{}, fmt.Errorf("%w: face points", vision.ErrNonFinite)
	}
	f := Result{HasNext: flags&nextFlag != 0}
	f.ROI, f.Presence = r, value(record, presenceWord)
	f.Points = make([][3]float64, m.Set.Count)
	points := record[4*pointsWord:][:12*m.Set.Count]
	for i := range f.Points {
		p := points[12*i:][:12]
		f.Points[i] = [3]float64{number(p), number(p[4:]), number(p[8:])}
	}
	m.parseRest(record, &f.FaceResult)
	for i := range f.Box {
		f.Box[i] = value(record, boxWord+i)
	}
	f.Region = vision.ROI{CX: value(record, nextWord), CY: value(record, nextWord+1), Size: value(record, nextWord+2), Rotation: value(record, nextWord+3)}
	if f.Presence < threshold {
		return f, nil
	}
	if with.Blendshapes {
		f.Blendshapes = values(record, blendshapesWord, len(vision.BlendshapeNames))
	}
	if with.Appearance && f.HasNext {
		f.Appearance = values(record, appearanceWord, vision.AppearanceSize)
	}
	for _, v := range f.Blendshapes {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Result{}, fmt.Errorf("%w: blendshapes", vision.ErrNonFinite)
		}
	}
	return f, nil
}

// parseRest reads what not every network tells.
func (m Mesh) parseRest(record []byte, f *vision.FaceResult) {
	if m.Spread {
		f.Confidence = values(record, m.spreadWord(), m.Set.Count)
		for i, spread := range f.Confidence {
			f.Confidence[i] = vision.Confidence(spread)
		}
	}
	if m.Turn {
		columns := [turnWords]float64(values(record, m.turnWord(), turnWords))
		if t, ok := vision.NewTurn(columns, f.ROI.Rotation); ok {
			f.Turn = &t
		}
	}
}

// values are n of a record's floats from word at on.
func values(record []byte, at, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = value(record, at+i)
	}
	return out
}

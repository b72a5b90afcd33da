package faces

import (
	"encoding/binary"
	"testing"

	"facetrack/vision"
)

func BenchmarkParse(b *testing.B) {
	m := mesh
	record := make([]byte, m.RecordBytes())
	binary.LittleEndian.PutUint32(record[4*flagsWord:], finiteFlag|nextFlag)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Parse(record, vision.ROI{}, 0, With{true, true}); err != nil {
			b.Fatal(err)
		}
	}
}

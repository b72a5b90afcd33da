package goldentest

import (
	"testing"

	"facetrack/infer"
)

// One item through each public network on each backend, one thread.
func BenchmarkNetworks(b *testing.B) {
	networks := []struct {
		name string
		load func(testing.TB) *infer.Graph
	}{
		{"blazeface", func(b testing.TB) *infer.Graph { return loadMember(b, "face_detector.tflite") }},
		{"landmarks", func(b testing.TB) *infer.Graph { return loadMember(b, "face_landmarks_detector.tflite") }},
		{"blendshapes", func(b testing.TB) *infer.Graph { return loadMember(b, "face_blendshapes.tflite") }},
		{"yunet-320", func(b testing.TB) *infer.Graph { return loadYuNet(b, "yunet_n_320_320.onnx") }},
	}
	for _, n := range networks {
		g := n.load(b)
		for _, v := range variants(b) {
			b.Run(n.name+"/"+v.name, func(b *testing.B) { benchmark(b, open(b, g, v.options)) })
		}
	}
}

func benchmark(b *testing.B, s infer.Session) {
	in, out := buffers(s.Inputs()), buffers(s.Outputs())
	for b.Loop() {
		if err := s.Run(1, in, out); err != nil {
			b.Fatal(err)
		}
	}
}

func buffers(infos []infer.Info) []infer.Buffer {
	list := make([]infer.Buffer, len(infos))
	for i, info := range infos {
		list[i].Host = make([]float32, info.Len())
	}
	return list
}

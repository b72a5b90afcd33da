package goldentest

import (
	"math"
	"testing"

	"facetrack/infer"
)

// The face in sergey.png is annotated with 0.93; a float32 engine gives 0.936.
func TestBlazeFaceGolden(t *testing.T) {
	g := loadMember(t, "face_detector.tflite")
	input := letterbox(decodeImage(t, read(t, "media", "sergey.png")), 128)
	for i, v := range input {
		input[i] = v/127.5 - 1
	}
	forEachBackend(t, g, func(t *testing.T, s infer.Session, _ variant) {
		out := run(t, s, input)
		if len(out["regressors"]) != 896*16 || len(out["classificators"]) != 896 {
			t.Fatalf("outputs %v; want regressors 896×16 and classificators 896", s.Outputs())
		}
		best := math.Inf(-1)
		for _, logit := range out["classificators"] {
			best = math.Max(best, float64(logit))
		}
		if score := 1 / (1 + math.Exp(-best)); !(math.Abs(score-0.936) <= 0.005) {
			t.Errorf("score %.4f; want 0.936 ± 0.005", score)
		} else {
			t.Logf("score %.4f", score)
		}
	})
}

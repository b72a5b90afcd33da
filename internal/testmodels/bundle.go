package testmodels

import (
	"math"

	mb "facetrack/internal/modelbuild"
	"facetrack/vision"
)

const (
	landmarkSize = 192 // input, px
	points       = 478
	cropDiameter = landmarkSize / vision.Margin // of a face in a crop, px
)

// Bundle is a `.task` file with a landmark and a blendshape network.
func Bundle() []byte {
	return mb.Task(
		mb.Member{Name: "face_landmarks_detector.tflite", Data: landmarks()},
		mb.Member{Name: "face_blendshapes.tflite", Data: blendshapes()},
		mb.Member{Name: "geometry_pipeline_metadata_landmarks.binarypb", Data: geometry()},
	)
}

func landmarks() []byte {
	b := mb.New("synthetic landmarks")
	m := moments(b)
	template := Template()
	b.Output("points", around(b, m, template[:]))
	b.Output("presence", presence(b, m))
	return b.TFLite()
}

// moments are how much of a whole face a crop shows, and where its middle is, px from the crop's.
func moments(b *mb.Builder) mb.Tensor {
	red := redness(b, b.Input("input", 1, landmarkSize, landmarkSize, 3), [3]float32{1, -0.5, -0.5}, redFloor/255.0)
	full := (skinRedness - redFloor) / 255.0 * faceArea * cropDiameter * cropDiameter
	kernels := fill(landmarkSize, func(_, _ float64) float64 { return 1 / full })
	kernels = append(kernels, fill(landmarkSize, func(x, _ float64) float64 { return x / full })...)
	kernels = append(kernels, fill(landmarkSize, func(_, y float64) float64 { return y / full })...)
	return b.Conv2D(red, b.Const([]int{3, landmarkSize, landmarkSize, 1}, kernels), b.Const([]int{3}, []float32{0, 0, -centroidY * cropDiameter}))
}

// around puts the points of a template around the middle of the moments.
func around(b *mb.Builder, moments mb.Tensor, template [][3]float64) mb.Tensor {
	var weights, bias []float32
	for _, p := range template {
		weights = append(weights, 0, 1, 0, 0, 0, 1, 0, 0, 0)
		bias = append(bias, float32(p[0]*cropDiameter+landmarkSize/2), float32(p[1]*cropDiameter+landmarkSize/2), float32(p[2]*cropDiameter))
	}
	return b.Conv2D(moments, b.Const([]int{len(bias), 1, 1, 3}, weights), b.Const([]int{len(bias)}, bias))
}

func presence(b *mb.Builder, moments mb.Tensor) mb.Tensor {
	return b.Conv2D(moments, b.Const([]int{1, 1, 1, 3}, []float32{20, 0, 0}), b.Const([]int{1}, []float32{-12}))
}

// Template holds the points of a drawn face in diameters from its centre: a spiral over the disc, its extremes, the
// corners of the eyes, and the irises where the eyes are drawn.
func Template() [points][3]float64 {
	var t [points][3]float64
	for i := range t {
		r, a := 0.5*math.Sqrt(float64(i)/points), 2.399963*float64(i)
		t[i] = [3]float64{r * math.Cos(a), r * math.Sin(a), r*r - 0.125}
	}
	for i, p := range map[int][2]float64{
		10: {0, -0.5}, 152: {0, 0.5}, 234: {-0.5, 0}, 454: {0.5, 0},
		33: {-0.24, -0.12}, 263: {0.24, -0.12}, RightIris: {-0.18, -0.12}, LeftIris: {0.18, -0.12},
		133: {-0.12, -0.12}, 362: {0.12, -0.12}, // inner corners of the eyes
		159: {-0.18, -0.14}, 145: {-0.18, -0.1}, 386: {0.18, -0.14}, 374: {0.18, -0.1}, // lids
	} {
		t[i][0], t[i][1] = p[0], p[1]
	}
	return t
}

// Points at the centres of the subject's irises.
const (
	RightIris = 468
	LeftIris  = 473
)

// blendshapes gives Blendshape(i) for every face.
func blendshapes() []byte {
	b := mb.New("synthetic blendshapes")
	in := len(vision.BlendshapeIndices)
	n := len(vision.BlendshapeNames)
	x := b.Reshape(b.Input("points", 1, in, 2), 1, 1, 1, 2*in)
	bias := make([]float32, n)
	for i := range bias {
		v := Blendshape(i)
		bias[i] = float32(math.Log(v / (1 - v)))
	}
	y := b.Conv2D(x, b.Const([]int{n, 1, 1, 2 * in}, make([]float32, n*2*in)), b.Const([]int{n}, bias))
	b.Output("blendshapes", b.Reshape(b.Logistic(y), n))
	return b.TFLite()
}

// Blendshape is the score that the network gives blendshape i.
func Blendshape(i int) float64 { return float64(i+1) / 60 }

package infer_test

import (
	"fmt"

	"facetrack/infer"
	_ "facetrack/infer/backends"
	"facetrack/infer/tflite"
	"facetrack/internal/modelbuild"
)

// A model is loaded once, opened on a backend, and run on batches.
func Example() {
	b := modelbuild.New("double")
	x := b.Input("x", 1, 3)
	b.Output("y", b.Add(x, x))
	model := b.TFLite() // usually read from a file

	graph, err := tflite.Load(model)
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := infer.Open(graph, infer.Options{Backend: "reference", MaxBatch: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	y := make([]float32, 6)
	err = session.Run(2, []infer.Buffer{{Host: []float32{1, 2, 3, 4, 5, 6}}}, []infer.Buffer{{Host: y}})
	fmt.Println(session.Outputs()[0].Shape, y, err, session.Close())
	// Output: [1 3] [2 4 6 8 10 12] <nil> <nil>
}

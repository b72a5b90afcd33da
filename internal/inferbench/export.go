// Package inferbench measures the networks on the GPU, for each batch size, and hands the same graphs to other programs.
package inferbench

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"facetrack/infer"
	_ "facetrack/infer/reference" // computes the samples
)

// exported is a graph as scripts/bench/torch_infer.py reads it. Constants lie in NAME.bin, float32, little endian.
type exported struct {
	Name    string          `json:"name"`
	Values  []exportedValue `json:"values"`
	Nodes   []infer.Node    `json:"nodes"`
	Inputs  []infer.ValueID `json:"inputs"`
	Outputs []infer.ValueID `json:"outputs"`
}

type exportedValue struct {
	Shape  []int `json:"shape"`
	Offset int   `json:"offset"` // first constant in the file, -1 for an activation
	Length int   `json:"length"`
}

// Export writes a network, optimised, as folder/name.json, its constants as folder/name.bin, and as folder/name.sample an input with the
// outputs that plain Go computes for it.
func Export(n Named, folder string) error {
	g := n.Graph.Clone()
	if err := infer.Optimize(g); err != nil {
		return fmt.Errorf("export %s: %w", n.Name, err)
	}
	sample, err := n.sample()
	if err != nil {
		return fmt.Errorf("export %s: %w", n.Name, err)
	}
	text, constants, err := encode(g, n.Name)
	if err != nil {
		return fmt.Errorf("export %s: %w", n.Name, err)
	}
	at := filepath.Join(folder, n.Name)
	return errors.Join(os.WriteFile(at+".json", text, 0o600), os.WriteFile(at+".bin", constants, 0o600), os.WriteFile(at+".sample", sample, 0o600))
}

func encode(g *infer.Graph, name string) (text, constants []byte, err error) {
	out := exported{Name: name, Nodes: g.Nodes, Inputs: g.Inputs, Outputs: g.Outputs}
	for i := range g.Values {
		v := &g.Values[i]
		e := exportedValue{Shape: v.Shape, Offset: -1, Length: v.Len()}
		if e.Shape == nil {
			e.Shape = []int{}
		}
		if v.Data != nil {
			e.Offset = len(constants) / 4
			constants = appendFloats(constants, v.Data)
		}
		out.Values = append(out.Values, e)
	}
	text, err = json.Marshal(out)
	return text, constants, err
}

// sample is an input in the network's range, and the outputs for it in order.
func (n Named) sample() ([]byte, error) {
	s, err := infer.Open(n.Graph, infer.Options{Backend: "reference"})
	if err != nil {
		return nil, err
	}
	source := rand.New(rand.NewPCG(3, 4)) // #nosec G404 -- any numbers
	in := make([]float32, s.Inputs()[0].Len())
	for i := range in {
		in[i] = n.Low + (n.High-n.Low)*source.Float32()
	}
	out := make([]infer.Buffer, len(s.Outputs()))
	for i, o := range s.Outputs() {
		out[i].Host = make([]float32, o.Len())
	}
	if err := errors.Join(s.Run(1, []infer.Buffer{{Host: in}}, out), s.Close()); err != nil {
		return nil, err
	}
	data := appendFloats(nil, in)
	for _, o := range out {
		data = appendFloats(data, o.Host)
	}
	return data, nil
}

func appendFloats(data []byte, values []float32) []byte {
	for _, x := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return data
}

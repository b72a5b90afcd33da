// Package inferbench measures the networks on the GPU, for each batch size, and hands the same graphs to other programs.
package inferbench

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"facetrack/infer"
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

// Export writes an optimised graph as folder/name.json and its constants as folder/name.bin.
func Export(g *infer.Graph, folder, name string) error {
	out := exported{Name: name, Nodes: g.Nodes, Inputs: g.Inputs, Outputs: g.Outputs}
	var constants []byte
	for i := range g.Values {
		v := &g.Values[i]
		e := exportedValue{Shape: v.Shape, Offset: -1, Length: v.Len()}
		if e.Shape == nil {
			e.Shape = []int{}
		}
		if v.Data != nil {
			e.Offset = len(constants) / 4
			for _, x := range v.Data {
				constants = binary.LittleEndian.AppendUint32(constants, math.Float32bits(x))
			}
		}
		out.Values = append(out.Values, e)
	}
	text, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("export %s: %w", name, err)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(folder, name+".json"), text, 0o600),
		os.WriteFile(filepath.Join(folder, name+".bin"), constants, 0o600),
	)
}

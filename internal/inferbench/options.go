package inferbench

import (
	"errors"
	"fmt"
	"io"

	"facetrack/infer"
)

// Options say what to measure.
type Options struct {
	GPU        string // auto, an ordinal or a UUID
	Networks   []Named
	Chains     []Chain
	Batches    []int
	Precisions []string // infer.FP16, infer.FP32
	Runs       int      // that count
	Python     string   // interpreter of Script
	Script     string   // the PyTorch side, torch_infer.py; "" leaves it out
	Progress   io.Writer
}

// Named is a graph with the name that it has in the results, and the range of its input.
type Named struct {
	Name      string
	Graph     *infer.Graph
	Low, High float32
}

// Chain is everything from frames to results: a detector of a kind, or, with a landmark network, from regions to points, blendshapes and looks.
type Chain struct {
	Name                   string
	Kind                   string // of Detector
	Detector               *infer.Graph
	Landmarks, Blendshapes *infer.Graph
}

// ErrOptions is wrapped by errors about an option.
var ErrOptions = errors.New("inferbench: bad option")

func (o *Options) check() error {
	if o.Runs < 1 || len(o.Batches) == 0 || len(o.Precisions) == 0 {
		return fmt.Errorf("%w: %d runs of %d batch sizes in %d precisions: at least one of each", ErrOptions, o.Runs, len(o.Batches), len(o.Precisions))
	}
	for _, n := range o.Batches {
		if n < 1 {
			return fmt.Errorf("%w: batch of %d", ErrOptions, n)
		}
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	return nil
}

func (o *Options) say(format string, a ...any) {
	_, _ = fmt.Fprintf(o.Progress, "bench: "+format+"\n", a...)
}

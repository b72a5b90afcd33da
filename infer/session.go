package infer

import "log/slog"

// Buffer is a tensor of float32 in host memory or, on a GPU backend, at a CUDA device address. Exactly one is set.
type Buffer struct {
	Host   []float32
	Device uint64
}

// Session runs one graph on one backend. A Session is used by one goroutine at a time.
type Session interface {
	// Backend names what runs: "cuda", "cpu", "reference".
	Backend() string
	Inputs() []Info
	Outputs() []Info
	// Run computes batch items at once: every buffer holds batch × Info.Len() elements, batch ≤ Options.MaxBatch.
	Run(batch int, in, out []Buffer) error
	Close() error
}

// Options choose and tune a backend.
type Options struct {
	Backend   string // "auto" (or ""), "cuda", "cpu", "reference"
	Precision string // "auto" (or ""): float16 on a GPU, float32 elsewhere; "fp32", "fp16"
	GPU       string // of backend "cuda": "auto" (or ""), "off", an ordinal or a UUID
	Threads   int    // CPU threads of one Run; 0 is 1
	MaxBatch  int    // 0 is 1

	Log *slog.Logger // what "auto" passes over and why, and what had to be made smaller; may be nil

	NoOptimize bool // run the graph's nodes as they are; for tests of single operators
}

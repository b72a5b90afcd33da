package infer

// Buffer is a tensor of float32 in host memory or, on a GPU backend, at a CUDA device address. Exactly one is set.
type Buffer struct {
	Host   []float32
	Device uint64
}

// Session runs one graph on one backend. A Session is used by one goroutine at a time.
type Session interface {
	// Backend names what runs: "cpu", "reference", later "cuda".
	Backend() string
	Inputs() []Info
	Outputs() []Info
	// Run computes batch items at once: every buffer holds batch × Info.Len() elements, batch ≤ Options.MaxBatch.
	Run(batch int, in, out []Buffer) error
	Close() error
}

// Options choose and tune a backend.
type Options struct {
	Backend  string // "auto" (or ""), "cpu", "reference"
	Threads  int    // CPU threads of one Run; 0 is 1
	MaxBatch int    // 0 is 1

	NoOptimize bool // run the graph's nodes as they are; for tests of single operators
}

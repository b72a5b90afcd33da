package xdf

import "time"

const (
	defaultChunkTime    = 500 * time.Millisecond
	defaultChunkSamples = 1000
	defaultBoundary     = 10 * time.Second
	chunkBytes          = 256 << 10 // a chunk is written when it has as many, however few its samples are
)

// Options of a recording. What is 0 or less has its default.
type Options struct {
	ChunkTime        time.Duration // the longest that a sample waits to be written; 500 ms
	ChunkSamples     int           // the most samples in a chunk; 1000
	BoundaryInterval time.Duration // the time between boundary chunks while anything is written; 10 s
}

func (o Options) withDefaults() Options {
	if o.ChunkTime <= 0 {
		o.ChunkTime = defaultChunkTime
	}
	if o.ChunkSamples <= 0 {
		o.ChunkSamples = defaultChunkSamples
	}
	if o.BoundaryInterval <= 0 {
		o.BoundaryInterval = defaultBoundary
	}
	return o
}

package lsl

import (
	"fmt"
	"log/slog"
	"math"
	"time"
)

// Defaults of Options.
const (
	DefaultSession       = "default"
	DefaultDiscoveryPort = 16571
	DefaultBasePort      = 16572
	DefaultPortRange     = 32
	DefaultConnections   = 256
	DefaultBufferBytes   = 128 << 20

	bufferSeconds   = 360 // of samples that may wait for a reader
	irregularPerSec = 100 // samples per second assumed when the rate is 0
)

// Options says how an outlet reaches the network. The zero value is what LSL programs do by default.
type Options struct {
	// LoopbackOnly binds all data sockets to 127.0.0.1 and answers only programs of this host.
	LoopbackOnly bool
	// Interfaces names the networks (e.g. "eth0") on which the stream is found and served, besides loopback;
	// none means all of them.
	Interfaces []string
	// SessionID is used when StreamInfo.SessionID is empty.
	SessionID string
	// BasePort and PortRange give the ports tried first for the TCP and the UDP socket (16572, 32). When all are
	// taken any free port serves. Readers that list this host as a known peer do not try those: they find the stream
	// only if another outlet of this process has a port of the range.
	BasePort, PortRange int
	// DiscoveryPort is the UDP port on which all outlets of a host hear queries (16571).
	DiscoveryPort int
	// MaxConnections bounds the TCP connections served at a time (256); more are closed at once. A reader keeps one open,
	// and has another for a moment when it asks for the full info.
	MaxConnections int
	// BufferSamples bounds the samples that may wait for a slow reader before it loses the oldest; 0 means six
	// minutes of them. A reader may ask for less.
	BufferSamples int
	// BufferBytes bounds the memory for waiting samples (128 MiB), shared by all readers.
	BufferBytes int
	// Logger hears of readers that come and go and of requests refused; nil discards.
	Logger *slog.Logger

	requestTimeout time.Duration // for a connection's request and the answer to it, up to the first sample
}

func (o Options) withDefaults() (Options, error) {
	for _, f := range []struct {
		name        string
		value       *int
		def, lo, hi int
	}{
		{"BasePort", &o.BasePort, DefaultBasePort, 1, math.MaxUint16},
		{"PortRange", &o.PortRange, DefaultPortRange, 1, math.MaxUint16},
		{"DiscoveryPort", &o.DiscoveryPort, DefaultDiscoveryPort, 1, math.MaxUint16},
		{"MaxConnections", &o.MaxConnections, DefaultConnections, 1, 1 << 16},
		{"BufferBytes", &o.BufferBytes, DefaultBufferBytes, 1, 1 << 30},
		{"BufferSamples", &o.BufferSamples, 0, 0, 1 << 30},
	} {
		if *f.value == 0 {
			*f.value = f.def
		}
		if *f.value < f.lo || *f.value > f.hi {
			return o, fmt.Errorf("%w: option %s is %d: give %d to %d", ErrInvalidInfo, f.name, *f.value, f.lo, f.hi)
		}
	}
	if o.LoopbackOnly && len(o.Interfaces) > 0 {
		return o, fmt.Errorf("%w: LoopbackOnly and Interfaces exclude each other: choose one", ErrInvalidInfo)
	}
	if o.requestTimeout == 0 {
		o.requestTimeout = requestTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// bufferSamples is the outlet's own capacity for a stream of the given rate.
func (o Options) bufferSamples(rate float64) int {
	if o.BufferSamples > 0 {
		return o.BufferSamples
	}
	if rate == 0 {
		rate = irregularPerSec
	}
	return int(max(1, min(rate*bufferSeconds, 1<<30)))
}

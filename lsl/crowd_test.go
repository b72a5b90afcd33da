package lsl

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	crowd        = 100
	crowdSamples = 150
	crowdBuffer  = 1 << 20
)

// crowdResult is what a producer and its readers saw.
type crowdResult struct {
	median, longest time.Duration // of a push
	heap            int64         // bytes that the stream's waiting samples took
	stalled         ReaderStats
}

// TestCrowd: a hundred readers follow one stream. One of them that reads nothing costs itself samples, and neither the others nor the producer
// anything.
func TestCrowd(t *testing.T) {
	all := runCrowd(t, false)
	one := runCrowd(t, true)
	t.Logf("push p50 %v, max %v; with a stalled reader %v, %v; heap %+d and %+d KiB", all.median, all.longest, one.median, one.longest, all.heap>>10, one.heap>>10)
	// A producer that waited for the stalled reader would never return; one that waited for its socket would take many times as long.
	if one.median > 20*all.median+5*time.Millisecond {
		t.Errorf("a push takes %v with a stalled reader, %v without", one.median, all.median)
	}
	if one.stalled.Dropped == 0 || one.stalled.Sent+one.stalled.Queued+one.stalled.Dropped != crowdSamples {
		t.Errorf("the stalled reader: %+v of %d samples", one.stalled, crowdSamples)
	}
	// What waits is the journal's; besides, every reader has a batch on the way to its socket.
	if most := int64(crowdBuffer + crowd*2*batchBytes); one.heap > most || all.heap > most {
		t.Errorf("%d and %d bytes are held, at most %d should be", all.heap, one.heap, most)
	}
}

// runCrowd pushes samples of 64 KiB, each as soon as everybody who reads has the one before, with default options.
func runCrowd(t *testing.T, stall bool) (result crowdResult) {
	t.Helper()
	info := testInfo(t)
	info.ChannelCount, info.Format = 1, String
	o := open(t, info, Options{LoopbackOnly: true, BufferBytes: crowdBuffer})
	value := strings.Repeat("x", 64<<10) // so that the kernel's buffers are soon full
	var stalled *wireFeed
	readers := crowd
	if stall {
		stalled = subscribe(t, o, 1<<20)
		_ = stalled.conn.SetReadBuffer(64 << 10) // only makes it sooner that the kernel takes no more
		readers--
	}
	got := make(chan error, readers)
	for range readers {
		f := subscribe(t, o, 1<<20)
		go func() { got <- follow(f, len(value), got) }()
	}
	if n := len(o.Stats().Readers); n != crowd || o.Stats().Refused != 0 {
		t.Fatalf("%d readers, %d refused", n, o.Stats().Refused)
	}
	before := heapInUse()
	var took []time.Duration
	for n := range crowdSamples {
		begin := time.Now()
		if err := o.PushString(float64(n+1), value); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(begin))
		for range readers {
			if err := <-got; err != nil {
				t.Fatal(err)
			}
		}
	}
	result.heap = heapInUse() - before
	for _, r := range o.Stats().Readers {
		if stall && r.Addr.String() == stalled.conn.LocalAddr().String() {
			result.stalled = r
		} else if r.Dropped != 0 || r.Sent != crowdSamples {
			t.Errorf("a reader suffered: %+v", r)
		}
	}
	result.median, result.longest = slices.Sorted(slices.Values(took))[len(took)/2], slices.Max(took)
	if stall {
		checkNewest(t, stalled, result.stalled)
	}
	return result
}

// follow reads crowdSamples samples, each with the next stamp, and reports every one but the last, which its return does.
func follow(f *wireFeed, size int, got chan<- error) error {
	for n := range crowdSamples {
		var head [14]byte // the tag, the stamp, the width of the length, the length
		if _, err := io.ReadFull(f.r, head[:]); err != nil {
			return err
		}
		if ts := math.Float64frombits(binary.LittleEndian.Uint64(head[1:])); ts != float64(n+1) {
			return fmt.Errorf("stamp %v, want %d", ts, n+1)
		}
		if _, err := f.r.Discard(size); err != nil {
			return err
		}
		if n < crowdSamples-1 {
			got <- nil
		}
	}
	return nil
}

// checkNewest lets the stalled reader read on: it lost the oldest that waited, and has the newest.
func checkNewest(t *testing.T, f *wireFeed, s ReaderStats) {
	t.Helper()
	last, received := 0.0, 0
	for last < crowdSamples {
		ts, _ := f.sample()
		if ts <= last {
			t.Fatalf("stamp %v after %v", ts, last)
		}
		last, received = ts, received+1
	}
	if received != crowdSamples-s.Dropped {
		t.Errorf("the stalled reader got %d samples, stats %+v", received, s)
	}
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

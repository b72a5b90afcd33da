package lsl

import (
	"fmt"
	"io"
	"testing"
)

// BenchmarkPush pushes the 61 channels of a face's expression and pose as fast as it can; the readers run beside it.
func BenchmarkPush(b *testing.B) {
	for _, readers := range []int{0, 1, 8} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			info := testInfo(b)
			info.ChannelCount = 61
			o := open(b, info, Options{LoopbackOnly: true})
			for range readers {
				f := subscribe(b, o, 3600)
				go func() { _, _ = io.Copy(io.Discard, f.conn) }()
			}
			values := make([]float32, info.ChannelCount)
			b.ReportAllocs()
			for b.Loop() {
				if err := o.Push(1, values); err != nil {
					b.Fatal(err)
				}
			}
			dropped := 0
			for _, r := range o.Stats().Readers {
				dropped += r.Dropped
			}
			b.ReportMetric(float64(dropped)/float64(max(readers, 1)*b.N), "dropped/op")
		})
	}
}

// BenchmarkQuery evaluates queries which are not cached.
func BenchmarkQuery(b *testing.B) {
	root := newTree(queryInfo())
	for b.Loop() {
		if ok, err := evaluate(root, "session_id='default' and type='MoCap' and count(desc/channels/channel)=3"); !ok {
			b.Fatal(err)
		}
	}
}

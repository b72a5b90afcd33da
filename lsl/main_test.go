package lsl

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
	"time"
)

// outletChild makes the test program an outlet that can be killed; its value is the source id.
const outletChild = "LSL_TEST_OUTLET"

func TestMain(m *testing.M) {
	if source := os.Getenv(outletChild); source != "" {
		if err := runOutlet(source); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // they wait for each other's packets, not for the CPU
		panic(err)
	}
	os.Exit(m.Run())
}

// runOutlet pushes its process id at every tick until it is killed or standard input ends.
func runOutlet(source string) error {
	info := StreamInfo{Name: source, Type: "MoCap", ChannelCount: 2, NominalRate: 100, Format: Float32, SourceID: source}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	o, err := NewOutlet(ctx, info, Options{LoopbackOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = o.Close() }()
	fmt.Println(o.UID())
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := o.Push(Now(), []float32{float32(os.Getpid()), 0}); err != nil {
				return err
			}
		}
	}
}

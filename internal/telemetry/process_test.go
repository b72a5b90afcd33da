package telemetry

import (
	"encoding/json"
	"testing"
	"time"
)

func TestSnapshotTellsWhatTheProcessCosts(t *testing.T) {
	t.Setenv(RestartsVariable, "3")
	before := New("detect").Snapshot()
	block := make([]byte, 64<<20)
	for begin := time.Now(); time.Since(begin) < 50*time.Millisecond; {
		for i := range block {
			block[i]++
		}
	}
	after := New("detect").Snapshot()
	if used := after.CPUSeconds - before.CPUSeconds; used < 0.01 {
		t.Errorf("%v s of CPU for a loop of 50 ms", used)
	}
	if grown := after.Memory - before.Memory; grown < int64(len(block)/2) {
		t.Errorf("%d bytes more for %d (%d)", grown, len(block), block[0])
	}
	if before.Goroutines < 1 {
		t.Errorf("%d goroutines", before.Goroutines)
	}
	stop := make(chan struct{})
	for range 10 {
		go func() { <-stop }()
	}
	if more := New("detect").Snapshot().Goroutines - after.Goroutines; more < 10 {
		t.Errorf("%d goroutines more for 10", more)
	}
	close(stop)
	if after.Restarts != 3 {
		t.Errorf("%d restarts", after.Restarts)
	}
	data, err := json.Marshal(after)
	var flat map[string]any
	if err == nil {
		err = json.Unmarshal(data, &flat)
	}
	if err != nil || flat["restarts"] != 3.0 || flat["cpu_s"] == nil || flat["memory_bytes"] == nil {
		t.Errorf("%s, %v", data, err)
	}
}

// A driver that hangs holds nobody up, and its library is given back once, when it has answered.
func TestGPUsHoldNobodyUp(t *testing.T) {
	asked, answer, left := make(chan struct{}), make(chan []GPU), make(chan struct{}, 2)
	g := &GPUs{
		read:  func() []GPU { asked <- struct{}{}; return <-answer },
		leave: func() { left <- struct{}{} },
	}
	r := New("detect")
	r.SetGPUs(g.Now)
	if s := r.Snapshot(); s.GPUs != nil {
		t.Fatalf("GPUs before an answer: %v", s.GPUs)
	}
	<-asked
	for range 3 {
		if s := r.Snapshot(); s.GPUs != nil {
			t.Fatalf("GPUs before an answer: %v", s.GPUs)
		}
	}
	answer <- []GPU{{UUID: "GPU-1", Busy: 40}}
	for end := time.Now().Add(deadline); len(r.Snapshot().GPUs) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the answer is not told")
		}
	}
	if now := r.Snapshot().GPUs; len(now) != 1 || now[0].Busy != 40 {
		t.Errorf("GPUs %v", now)
	}
	g.mu.Lock()
	g.asked = time.Time{}
	g.mu.Unlock()
	r.Snapshot()
	<-asked
	if g.Close() != nil || len(left) != 0 {
		t.Error("the library was given back while it was asked")
	}
	answer <- nil
	<-left
	if g.Close() != nil || len(left) != 0 {
		t.Error("the library was given back twice")
	}
	var none *GPUs
	if err := none.Close(); err != nil {
		t.Error(err)
	}
}

// Without a GPU there is nothing to tell, and nothing breaks.
func TestGPUsOfThisMachine(t *testing.T) {
	g := NewGPUs()
	for _, gpu := range g.read() {
		if gpu.UUID == "" || gpu.MemoryTotal <= 0 || gpu.Busy < 0 || gpu.Busy > 100 {
			t.Errorf("GPU %+v", gpu)
		}
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

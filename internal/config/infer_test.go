package config

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestInferRefusesWhatItDoesNotKnow(t *testing.T) {
	for text, want := range map[string]string{
		"precision: int8":     `infer.precision is "int8"; it must be one of ["auto" "fp16" "fp32"]`,
		"mode: fast":          `infer.mode is "fast"; it must be one of ["latency" "balanced" "throughput"]`,
		"backend: gpu":        `infer.backend is "gpu"; it must be one of ["auto" "cpu" "cuda" "reference"]`,
		"batch_wait_ms: -1":   `infer.batch_wait_ms is "-1"; it must be 0 to 1000`,
		"batch_wait_ms: .nan": "infer.batch_wait_ms",
		"max_batch: 0":        `infer.max_batch is "0"; it must be 1 to 1024`,
		"max_bach: 2":         `unknown key "max_bach" (did you mean "max_batch"?)`,
		"workers: 65":         "infer.workers",
	} {
		_, err := Parse("f.yaml", []byte("infer:\n  "+text+"\n"))
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "f.yaml line 2") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant line 2 and %q", text, err, want)
		}
	}
}

func TestBatchWait(t *testing.T) {
	type waiting struct {
		wait  time.Duration
		eager bool
	}
	for text, want := range map[string]waiting{
		"mode: latency": {}, "mode: balanced": {2 * time.Millisecond, true}, "mode: throughput": {8 * time.Millisecond, false},
		"threads: 1":                            {2 * time.Millisecond, true},
		"{mode: latency, batch_wait_ms: 0.5}":   {500 * time.Microsecond, false},
		"{mode: throughput, batch_wait_ms: 20}": {20 * time.Millisecond, false},
	} {
		cfg, err := Parse("f.yaml", []byte("infer:\n  "+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if wait, eager := cfg.Infer.BatchWait(); wait != want.wait || eager != want.eager {
			t.Errorf("%s: %v, %v; want %+v", text, wait, eager, want)
		}
	}
}

func TestWorkerCounts(t *testing.T) {
	cfg := Default()
	if cpu, gpu := cfg.WorkerCount(), cfg.GPUWorkerCount(); cpu < 1 || gpu != 2 {
		t.Errorf("%d on the CPU, %d on a GPU", cpu, gpu)
	}
	cfg.Infer.Workers = 5
	if cpu, gpu := cfg.WorkerCount(), cfg.GPUWorkerCount(); cpu != 5 || gpu != 5 {
		t.Errorf("%d on the CPU, %d on a GPU; 5 are configured", cpu, gpu)
	}
}

func TestWantsGPU(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "infer: {backend: cuda}": true, "infer: {backend: cpu}": false, "infer: {backend: reference}": false,
		"cuda: {gpu: off}": false, "{infer: {backend: cuda}, cuda: {gpu: off}}": true, "ring: {transports: [shm]}": true,
	} {
		if cfg, err := Parse("f.yaml", []byte(text)); err != nil || cfg.WantsGPU() != want {
			t.Errorf("%q: %v, %v; want %v", text, cfg.WantsGPU(), err, want)
		}
	}
}

package workers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"facetrack/internal/config"
	"facetrack/internal/cuda"
	"facetrack/internal/stage"
	"facetrack/internal/stage/stagetest"
	"facetrack/internal/telemetry"
)

type worker struct {
	backend string
	health  *Health
	closed  *int
}

func (w worker) Backend() string { return w.backend }

func (w worker) Close() error {
	*w.closed++
	return nil
}

// crew has two workers on a GPU, where it opens with the errors given one after the other, and one on the CPU.
type crew struct {
	*Crew[worker]
	cfg          *config.Config
	open, closed int // so many workers were made and closed
	most         int // of a batch
	wait         time.Duration
}

func newCrew(backend string, opens ...error) *crew {
	cfg := config.Default()
	cfg.Infer.Backend = backend
	env := &stage.Env{Config: cfg, Telemetry: telemetry.New("detect"), Log: stagetest.Quiet}
	c := &crew{cfg: &env.Config}
	c.Crew = &Crew[worker]{
		Env:   env,
		Shape: func(most int, wait time.Duration, _ bool) { c.most, c.wait = most, wait },
		GPU: func(h *Health) ([]worker, error) {
			c.open++
			made := []worker{{"cuda", h, &c.closed}}
			if len(opens) > 0 {
				err := opens[0]
				if opens = opens[1:]; err != nil {
					return made, err
				}
			}
			c.open++
			return append(made, made[0]), nil
		},
		CPU: func() ([]worker, error) {
			c.open++
			return []worker{{"cpu", nil, &c.closed}}, nil
		},
	}
	return c
}

func (c *crew) stats() telemetry.Stats { return c.Env.Telemetry.Snapshot() }

func TestNetworksRunOnTheGPUIfTheyCan(t *testing.T) {
	broken := errors.New("no kernel for this")
	for _, c := range []struct {
		backend string
		err     error
		want    string // backend
		because string
	}{
		{"auto", nil, "cuda", ""}, {"cuda", nil, "cuda", ""}, {"cpu", nil, "cpu", ""},
		{"auto", broken, "cpu", "no kernel for this"},
	} {
		crew := newCrew(c.backend, c.err)
		if err := crew.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := crew.stats(); s.Backend != c.want || s.Because != c.because || crew.Backend() != c.want {
			t.Errorf("%+v: %q because %q", c, s.Backend, s.Because)
		}
		if c.want == "cuda" && (crew.most != 64 || crew.wait != 2*time.Millisecond) || c.want == "cpu" && (crew.most != 1 || crew.wait != 0) {
			t.Errorf("%+v: batches of %d, wait %v", c, crew.most, crew.wait)
		}
		if err := crew.Close(); err != nil || crew.open != crew.closed {
			t.Errorf("%+v: %d made, %d closed, %v", c, crew.open, crew.closed, err)
		}
	}
}

func TestNamedGPUThatCannotIsPermanent(t *testing.T) {
	broken := errors.New("no kernel for this")
	c := newCrew("cuda", broken)
	err := c.Open(t.Context())
	if !errors.Is(err, stage.ErrPermanent) || !errors.Is(err, broken) || !strings.Contains(err.Error(), "infer.backend is cuda") || c.open != c.closed {
		t.Errorf("%v; %d made, %d closed", err, c.open, c.closed)
	}
	c = newCrew("auto")
	c.GPU = func(*Health) ([]worker, error) { return nil, broken }
	c.CPU = func() ([]worker, error) { return nil, broken }
	if err := c.Open(t.Context()); !errors.Is(err, stage.ErrPermanent) {
		t.Errorf("neither: %v", err)
	}
}

// While an MPS server starts again, nobody can open the GPU.
func TestPassingErrorsPass(t *testing.T) {
	notReady := fmt.Errorf("open: %w", &cuda.Error{Call: "cuInit", Code: 807})
	c := newCrew("cuda", notReady, notReady)
	if err := c.Open(t.Context()); err != nil || c.Backend() != "cuda" || c.open != 4 || c.closed != 2 {
		t.Errorf("%v; %d made, %d closed", err, c.open, c.closed)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel() // as if it took too long
	if err := newCrew("cuda", notReady).Open(ended); !errors.Is(err, cuda.Code(807)) || errors.Is(err, stage.ErrPermanent) {
		t.Errorf("%v", err)
	}
}

// lose has workers on the GPU fail until they are to stop, and those on the CPU end the run.
func (c *crew) lose(t *testing.T, failure error) (on map[string]int, err error) {
	t.Helper()
	if err := c.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	on = map[string]int{}
	err = c.Run(ctx, func(working context.Context, w worker) {
		mu.Lock()
		on[w.backend]++
		mu.Unlock()
		if w.health == nil {
			cancel()
			return
		}
		for working.Err() == nil {
			w.health.Begin()(failure)
		}
	})
	return on, err
}

func TestLostGPU(t *testing.T) {
	sticky := fmt.Errorf("detect: %w", &cuda.Error{Call: "cuStreamSynchronize", Code: cuda.IllegalAddress})
	t.Run("a thread goes on on the CPU", func(t *testing.T) {
		c := newCrew("auto")
		on, err := c.lose(t, sticky)
		if s := c.stats(); err != nil || on["cuda"] != 2 || on["cpu"] != 1 || s.Backend != "cpu" || !strings.Contains(s.Because, "the GPU was lost: detect: cuStreamSynchronize") {
			t.Errorf("%v, %v, %+v", on, err, s)
		}
		if c.most != 1 || c.closed != 2 {
			t.Errorf("batches of %d, %d closed", c.most, c.closed)
		}
	})
	t.Run("a process is started again", func(t *testing.T) {
		c := newCrew("auto")
		c.Env.Renewed = true
		if on, err := c.lose(t, sticky); !errors.Is(err, cuda.IllegalAddress) || errors.Is(err, stage.ErrPermanent) || on["cpu"] != 0 {
			t.Errorf("%v, %v", on, err)
		}
	})
	t.Run("a named GPU", func(t *testing.T) {
		if on, err := newCrew("cuda").lose(t, sticky); !errors.Is(err, cuda.IllegalAddress) || on["cpu"] != 0 {
			t.Errorf("%v, %v", on, err)
		}
	})
	t.Run("by failing again and again", func(t *testing.T) {
		if on, err := newCrew("auto").lose(t, errors.New("odd")); err != nil || on["cpu"] != 1 {
			t.Errorf("%v, %v", on, err)
		}
	})
}

func TestRunEndsWithContext(t *testing.T) {
	for _, backend := range []string{"cuda", "cpu"} {
		c := newCrew(backend)
		if err := c.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if err := c.Run(ctx, func(working context.Context, _ worker) {
			cancel()
			<-working.Done()
		}); err != nil {
			t.Errorf("%s: %v", backend, err)
		}
	}
}

func TestSingleFailuresAreNoLoss(t *testing.T) {
	h := NewHealth(stagetest.Quiet)
	odd := errors.New("odd")
	for range 10 {
		h.Begin()(odd)
		h.Begin()(odd)
		h.Begin()(nil)
	}
	if h.Err() != nil {
		t.Errorf("lost: %v", h.Err())
	}
	for range 5 {
		h.Begin()(odd)
	}
	<-h.Lost()
	h.Begin()(nil)
	if !errors.Is(h.Err(), odd) {
		t.Errorf("%v", h.Err())
	}
}

// A batch that does not end ends the process.
func TestGPUThatStandsStill(t *testing.T) {
	codes := make(chan int, 1)
	defer func(h time.Duration, e func(int)) { hang, exit = h, e }(hang, exit)
	hang, exit = time.Millisecond, func(code int) { codes <- code }
	ended := NewHealth(stagetest.Quiet).Begin()
	if code := <-codes; code != 1 {
		t.Errorf("exit status %d", code)
	}
	ended(nil)
}

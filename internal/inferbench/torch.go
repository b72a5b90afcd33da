package inferbench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Torch is what PyTorch makes of the same networks, as CUDA graphs. Times are taken as in Row.
type Torch struct {
	Version string     `json:"torch"`
	CUDA    string     `json:"cuda"`
	CuDNN   int        `json:"cudnn"`
	GPU     string     `json:"gpu"`
	Rows    []TorchRow `json:"rows"`
}

// TorchRow is one network at one precision and batch size; "tf32" is float32 with multiplications in TF32, as PyTorch does by default.
type TorchRow struct {
	Network   string   `json:"network"`
	Precision string   `json:"precision"`
	Batch     int      `json:"batch"`
	P50       float64  `json:"p50_us,omitempty"`
	P99       float64  `json:"p99_us,omitempty"`
	InARow    float64  `json:"in_a_row_us,omitempty"`
	Off       *float64 `json:"off"` // from plain Go, in parts of 1 + its value; none: not a number
	Error     string   `json:"error,omitempty"`
}

// compare runs the PyTorch side. What keeps it from running is noted in the result.
func (o *Options) compare(ctx context.Context, result *Result) error {
	if o.Script == "" || o.Python == "" {
		result.NotRun = append(result.NotRun, "PyTorch: no torch_infer.py or no Python was named or found")
		return nil
	}
	folder, err := os.MkdirTemp("", "facetrack-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	for _, n := range o.Networks {
		if err := Export(n, folder); err != nil {
			return err
		}
	}
	o.say("PyTorch")
	if result.Torch, err = o.torch(ctx, folder); err != nil {
		result.NotRun = append(result.NotRun, "PyTorch: "+err.Error())
	}
	return ctx.Err()
}

func (o *Options) torch(ctx context.Context, folder string) (*Torch, error) {
	batches := make([]string, len(o.Batches))
	for i, n := range o.Batches {
		batches[i] = strconv.Itoa(n)
	}
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, o.Python, o.Script, folder, "--batches", strings.Join(batches, ","), "--runs", strconv.Itoa(o.Runs)) // #nosec G204 -- the operator's
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(complaints.String()), "\n")
		return nil, fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	}
	t := &Torch{}
	if err := json.Unmarshal(out.Bytes(), t); err != nil {
		return nil, fmt.Errorf("its answer: %w", err)
	}
	if len(t.Rows) == 0 {
		return nil, errors.New("it measured nothing")
	}
	return t, nil
}

// row is nil where PyTorch has no figures.
func (t *Torch) row(network, precision string, batch int) *TorchRow {
	if t == nil {
		return nil
	}
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Network == network && r.Precision == precision && r.Batch == batch && r.Error == "" {
			return r
		}
	}
	return nil
}

package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"facetrack/infer"
	"facetrack/internal/inferbench"
	"facetrack/internal/models"
	"facetrack/internal/version"
)

// BenchInferCmd measures the networks on the GPU.
type BenchInferCmd struct {
	Networks   []string `default:"landmarks,blendshapes,yunet-320,yunet-640,blazeface" enum:"landmarks,blendshapes,yunet-320,yunet-640,blazeface" help:"Networks alone, from input to output in the GPU's memory: ${enum}."`
	Chains     []string `default:"find,detect-yunet-320,detect-yunet-640,detect-blazeface" enum:"find,detect-yunet-320,detect-yunet-640,detect-blazeface,none" help:"From 1080p frames in the GPU's memory to results on the host: ${enum}. A batch of find is as many faces, each in a frame of its own."`
	Batches    []int    `default:"1,8,64" help:"Items at once."`
	Precisions []string `name:"precision" default:"fp16,fp32" enum:"fp16,fp32" help:"${enum}."`
	Runs       int      `default:"300" help:"That count, after 0.1 s of others."`
	GPU        string   `name:"gpu" default:"auto" help:"auto, a number or a UUID."`
	Landmarks  string   `default:"face-landmarker" help:"Landmark model, by name or path."`
	JSON       string   `name:"json" aliases:"out" type:"path" placeholder:"FILE" help:"Write the raw numbers."`
	Python     string   `default:"python3" help:"Python with PyTorch; empty: without."`
	Script     string   `type:"path" placeholder:"FILE" help:"The PyTorch side, torch_infer.py; else looked for in scripts/bench and beside the program."`
	Export     string   `type:"path" placeholder:"DIR" help:"Only write the networks for torch_infer.py into this folder; needs no GPU."`
}

// InferResult is the content of docs/benchmarks/infer.json.
type InferResult struct {
	Commit  string    `json:"commit"`
	Date    time.Time `json:"date"`
	Machine Machine   `json:"machine"`
	*inferbench.Result
}

// Run is `facetrack bench infer`.
func (b *BenchInferCmd) Run(ctx context.Context) error {
	if err := claimOut("--json", b.JSON); err != nil {
		return err
	}
	o, err := b.options()
	if err != nil {
		return err
	}
	if b.Export != "" {
		if err := os.MkdirAll(b.Export, 0o750); err != nil {
			return err
		}
		for _, n := range o.Networks {
			err = errors.Join(err, inferbench.Export(n, b.Export))
		}
		return err
	}
	measured, err := inferbench.Run(ctx, o)
	if err != nil {
		return err
	}
	result := InferResult{version.Commit(), time.Now().UTC(), machine(), measured}
	fmt.Printf("\n%s, %d cores, Linux %s, commit %s\n", result.Machine.CPU, result.Machine.Cores, result.Machine.Kernel, result.Commit)
	if err := measured.Print(os.Stdout); err != nil {
		return err
	}
	return writeOut(b.JSON, result)
}

func (b *BenchInferCmd) options() (o inferbench.Options, err error) {
	all, err := openNetworks(b.Landmarks)
	if err != nil {
		return o, err
	}
	o = inferbench.Options{
		GPU: b.GPU, Batches: b.Batches, Precisions: b.Precisions, Runs: b.Runs, Python: b.Python, Script: b.Script, Progress: os.Stderr,
	}
	for _, n := range all.named() {
		if slices.Contains(b.Networks, n.Name) {
			o.Networks = append(o.Networks, n)
		}
	}
	for _, c := range all.chains() {
		if slices.Contains(b.Chains, c.Name) {
			o.Chains = append(o.Chains, c)
		}
	}
	if b.Python != "" && b.Script == "" {
		self, err := os.Executable()
		if err != nil {
			return o, err
		}
		o.Script = besideProgram(self, "torch_infer.py")
	}
	return o, nil
}

// benchNetworks are the public networks that are measured.
type benchNetworks struct {
	models.LandmarkGraphs
	detectors map[string]*infer.Graph
	kinds     map[string]string
}

var benchDetectors = []string{"yunet-320", "yunet-640", models.BlazeFace}

func openNetworks(landmarks string) (*benchNetworks, error) {
	store, err := models.NewStore()
	if err != nil {
		return nil, err
	}
	n := &benchNetworks{detectors: map[string]*infer.Graph{}, kinds: map[string]string{}}
	if n.LandmarkGraphs, err = store.LandmarkGraphs(landmarks, true); err != nil {
		return nil, err
	}
	for _, name := range benchDetectors {
		if n.kinds[name], n.detectors[name], err = store.DetectorGraph(name, false); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// named gives each network the range of its input: RGB from 0, pixels, BGR up to 255, RGB around 0.
func (n *benchNetworks) named() []inferbench.Named {
	list := []inferbench.Named{{Name: "landmarks", Graph: n.Points, Low: 0, High: 1}}
	if n.Blendshapes != nil {
		list = append(list, inferbench.Named{Name: "blendshapes", Graph: n.Blendshapes, Low: 0, High: 192})
	}
	return append(list, []inferbench.Named{
		{Name: "yunet-320", Graph: n.detectors["yunet-320"], Low: 0, High: 255},
		{Name: "yunet-640", Graph: n.detectors["yunet-640"], Low: 0, High: 255},
		{Name: "blazeface", Graph: n.detectors["blazeface"], Low: -1, High: 1},
	}...)
}

func (n *benchNetworks) chains() []inferbench.Chain {
	list := []inferbench.Chain{{Name: "find", Landmarks: n.Points, Blendshapes: n.Blendshapes}}
	for _, name := range benchDetectors {
		list = append(list, inferbench.Chain{Name: "detect-" + name, Kind: n.kinds[name], Detector: n.detectors[name]})
	}
	return list
}

// besideProgram finds a script of scripts/bench: in the sources' folder, the one that one is in, or beside the program. "" if it is nowhere.
func besideProgram(self, name string) string {
	place := filepath.Join("scripts", "bench", name)
	for _, path := range []string{place, filepath.Join(filepath.Dir(self), "..", place), filepath.Join(filepath.Dir(self), name)} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

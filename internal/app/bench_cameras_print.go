package app

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"facetrack/internal/ledger"
)

func (r CamerasResult) print(out io.Writer) {
	_, _ = fmt.Fprintf(out, "\n%s %s at %g frames/s, %s, %s, %d cores, driver %s, MPS %v, inference %s, %s, %s, commit %s\n\n", r.Size, r.Format, r.FPS,
		map[bool]string{true: "in step", false: "not in step"}[r.InStep],
		r.Machine.CPU, r.Machine.Cores, r.Machine.Driver, r.MPS, r.Backend, r.Infer, r.Precision, r.Commit)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "rig\tcameras\tframes/s\tdropped\tcapture→tracks ms p50\tp95\tp99\tGPU %\tPCIe up MB/frame\tdown\tCPUs\ttransports\tbackends\twhy no more")
	for _, m := range r.Modes {
		f := m.Final
		gpu, up, down := "-", "-", "-"
		if f.GPU != nil {
			gpu = fmt.Sprintf("%.0f", f.GPU.Percent)
			up, down = fmt.Sprintf("%.3f", f.UpMB), fmt.Sprintf("%.3f", f.DownMB)
		}
		var transports, backends []string
		for _, t := range slices.Sorted(maps.Keys(f.Transport)) {
			transports = append(transports, fmt.Sprintf("%s×%d", t, f.Transport[t]))
		}
		for _, stage := range slices.Sorted(maps.Keys(f.Backends)) {
			backends = append(backends, stage+" "+f.Backends[stage])
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%.1f\t%d\t%.1f\t%.1f\t%.1f\t%s\t%s\t%s\t%.2f\t%s\t%s\t%s\n", m.Mode, m.Held, f.FPS, f.Captured-f.Tracked, f.P50, f.P95, f.P99,
			gpu, up, down, f.CPUs, strings.Join(transports, " "), strings.Join(backends, ", "), m.whyNoMore())
	}
	_ = w.Flush()
	r.printStages(out)
}

// printStages says where the time of a frame goes.
func (r CamerasResult) printStages(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(w, "\nms at a stage, p50 / p99")
	for _, stage := range ledger.Stages {
		_, _ = fmt.Fprint(w, "\t", stage)
	}
	_, _ = fmt.Fprintln(w)
	for _, m := range r.Modes {
		_, _ = fmt.Fprint(w, m.Mode)
		for _, stage := range ledger.Stages {
			p := m.Final.Stages[stage]
			_, _ = fmt.Fprintf(w, "\t%.1f / %.1f", p.P50, p.P99)
		}
		_, _ = fmt.Fprintln(w)
	}
	_ = w.Flush()
}

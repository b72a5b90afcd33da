package ipcbench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Print writes the figures as tables for people.
func (r *Result) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	p := &printer{w}
	p.line("\n%s, %d cores, %d MiB, Linux %s, commit %s, %s", r.Machine.CPU, r.Machine.Cores, r.Machine.MemoryMiB, r.Machine.Kernel, r.Commit, r.Date.Format("2006-01-02"))
	r.printGPU(p)
	p.line("%d×%d, paced at %d frames/s, %d rounds of %d frames; %.0f s in all", r.Parameters.Width, r.Parameters.Height, r.Parameters.Rate,
		r.Parameters.Rounds, r.Parameters.RoundFrames, r.Seconds)
	p.line("\nfrom \"complete in host memory\" to \"the other process knows that its %s is done\", µs", r.Looks)
	p.line("transport\tformat\tmessage p50\tp99\tone tile p50\tp90\tp99\tmax\twhole frame p50\tp90\tp99\tmax\tframes\tframes/s saturated\tMB up a frame\twrong")
	for _, l := range r.Transports {
		a, b := l.MayStart, l.Whole
		p.line("%s\t%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%d\t%.0f\t%.2f\t%d", l.Transport, l.Format, l.Message.P50, l.Message.P99, a.P50, a.P90, a.P99, a.Max,
			b.P50, b.P90, b.P99, b.Max, a.Frames+b.Frames, l.Saturated, l.BytesUp/1e6, l.Mismatches+l.Failed)
	}
	r.printBytes(p)
	r.printUploads(p)
	r.printTargets(p)
	for _, l := range r.Transports {
		if l.Failure != "" {
			p.line("%s %s: %s", l.Transport, l.Format, l.Failure)
		}
	}
	for _, n := range r.NotRun {
		p.line("not run: %s: %s", n.Name, n.Reason)
	}
	return w.Flush()
}

type printer struct{ w io.Writer }

func (p *printer) line(format string, a ...any) { _, _ = fmt.Fprintf(p.w, format+"\n", a...) }

func (r *Result) printGPU(p *printer) {
	g := r.GPU
	if g == nil {
		return
	}
	p.line("%s, driver %s, CUDA %s, PCIe %s, MPS %s; %s", g.Name, orUnknown(g.Driver), g.CUDA, orUnknown(g.PCIe), r.MPS, orNone(r.Torch))
	if g.Imitated != "" {
		p.line("The driver is an imitation (%s): the figures mean nothing.", g.Imitated)
	}
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func orNone(torch string) string {
	if torch == "" {
		return "no PyTorch"
	}
	return torch
}

func (r *Result) printBytes(p *printer) {
	if len(r.PCIe) == 0 {
		return
	}
	p.line("\nreaders\tformat\ttransport\tMB to the GPU a frame\tbytes from it\tfewer than shm\tMB to the GPU by NVML")
	for _, row := range r.PCIe {
		seen, less := "-", "-"
		if row.NVML != nil {
			seen = fmt.Sprintf("%.2f", row.NVML.Up/1e6)
		}
		if row.Transport == Auto {
			less = fmt.Sprintf("%.1f %%", 100*max(row.Less, 0))
		}
		p.line("%d\t%s\t%s%s\t%.2f\t%.0f\t%s\t%s", row.Readers, row.Format, row.Transport, map[bool]string{false: " (computed)"}[row.Measured],
			row.Up/1e6, row.Down, less, seen)
	}
}

func (r *Result) printUploads(p *printer) {
	if len(r.Uploads) > 0 {
		p.line("\nupload from\tformat\tµs p50\tp99\tGB/s\ttime against page-locked")
	}
	for _, u := range r.Uploads {
		p.line("%s\t%s\t%.0f\t%.0f\t%.1f\t%.2f", u.Memory, u.Format, u.Time.P50, u.Time.P99, u.GBs, u.Ratio)
	}
	if len(r.Overlap) > 0 {
		p.line("\nformat\tupload µs\tkernel µs\toverlapped frames/s\tone at a time\tratio\tone stream\tratio")
	}
	for _, o := range r.Overlap {
		p.line("%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f\t%.0f\t%.2f", o.Format, o.UploadUS, o.KernelUS, o.Overlapped, o.RingOne, o.VersusRing, o.Stream, o.VersusOne)
	}
}

func (r *Result) printTargets(p *printer) {
	if len(r.Targets) > 0 {
		p.line("\ntarget\twant\tis\t")
	}
	for _, t := range r.Targets {
		p.line("%s\t%s\t%.3g\t%s", t.What, t.Want, t.Value, map[bool]string{true: "met", false: "MISSED"}[t.Met])
	}
	p.line("")
}

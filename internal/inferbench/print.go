package inferbench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Print writes the figures as tables for people.
func (r *Result) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(format string, a ...any) { _, _ = fmt.Fprintf(w, format+"\n", a...) }
	line("%s, driver %s, CUDA %s, MPS %v; %s", r.GPU.Name, r.GPU.Driver, r.GPU.CUDA, r.GPU.MPS, r.Torch.version())
	if r.GPU.Imitated != "" {
		line("The driver is an imitation (%s): the figures mean nothing.", r.GPU.Imitated)
	}
	line("\nµs; \"in a row\" is a run among %d, of a chain with two workers; × is how often the run fits into PyTorch's", r.Runs)
	line("network\tprecision\tbatch\tlaunches\tp50\tp99\tin a row\tone by one p50\tPyTorch p50\tin a row\t×p50\t×in a row\tfloor\tof it\tbecause of")
	for _, row := range r.Rows {
		line("%s\t%s\t%d\t%s\t%.1f\t%.1f\t%.1f\t%s\t%s\t%s", row.Network, row.Precision, row.Batch, orDash("%.0f", float64(row.Launches)), row.P50, row.P99, row.InARow,
			orDash("%.1f", row.PlainP50), r.Torch.columns(row), row.Floor.columns(row.InARow))
	}
	r.printTorch(line)
	for _, text := range r.NotRun {
		line("not run: %s", text)
	}
	return w.Flush()
}

// printTorch writes what stands beside no row of ours.
func (r *Result) printTorch(line func(format string, a ...any)) {
	if r.Torch == nil {
		return
	}
	line("\nPyTorch alone\tprecision\tbatch\tp50\tp99\tin a row\toff plain Go by")
	for _, t := range r.Torch.Rows {
		off := "not a number"
		if t.Off != nil {
			off = fmt.Sprintf("%.1e", *t.Off)
		}
		if t.Error != "" {
			off = t.Error
		}
		line("%s\t%s\t%d\t%.1f\t%.1f\t%.1f\t%s", t.Network, t.Precision, t.Batch, t.P50, t.P99, t.InARow, off)
	}
}

func (t *Torch) version() string {
	if t == nil {
		return "without PyTorch"
	}
	return fmt.Sprintf("PyTorch %s, CUDA %s, cuDNN %d", t.Version, t.CUDA, t.CuDNN)
}

func (t *Torch) columns(row Row) string {
	other := t.row(row.Network, row.Precision, row.Batch)
	if other == nil {
		return "-\t-\t-\t-"
	}
	return fmt.Sprintf("%.1f\t%.1f\t%.2f\t%.2f", other.P50, other.InARow, other.P50/row.P50, other.InARow/row.InARow)
}

func (f *Floor) columns(took float64) string {
	if f == nil {
		return "-\t-\t-"
	}
	return fmt.Sprintf("%.2f\t%.1f %%\t%s", f.Micros, 100*f.Micros/took, f.Because)
}

func orDash(format string, v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

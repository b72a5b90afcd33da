package modeleval

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Print writes the report for a terminal.
func (r *Report) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, t := range r.tables() {
		_, _ = fmt.Fprintf(w, "\n%s\n", t.title)
		if t.note != "" {
			_, _ = fmt.Fprintln(w, t.note)
		}
		for _, row := range t.rows {
			_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
		}
	}
	for _, line := range r.LeftOut {
		_, _ = fmt.Fprintf(w, "\nLeft out: %s\n", line)
	}
	return w.Flush()
}

// origins of the pictures that overlays show, as docs/assets.md has them.
var origins = []struct{ name, credit string }{
	{"astronaut", "scikit-image; NASA, public domain"},
	{"sergey", "google-ai-edge/mediapipe, Apache-2.0"},
	{"", "intel-iot-devkit/sample-videos, CC-BY-4.0; boxes and points drawn in"},
}

func credit(name string) string {
	for _, o := range origins {
		if strings.HasPrefix(name, o.name) {
			return o.credit
		}
	}
	return ""
}

// Markdown writes the report as a document.
func (r *Report) Markdown(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# How good the networks are\n\nWritten by `make eval`; raw numbers are in eval.json, conventions in the documentation of package `internal/modeleval`.\n\n")
	fmt.Fprintf(&b, "%s, commit %s.\n\n", r.Date, r.Commit)
	for _, n := range []Network{r.Detector, r.Landmarks} {
		fmt.Fprintf(&b, "- measured: %s (SHA-256 %s), %s\n", n.Name, n.SHA256, n.Backend)
	}
	for _, n := range r.Reference {
		fmt.Fprintf(&b, "- reference: %s, %s\n", n.Name, n.Backend)
	}
	for _, line := range r.LeftOut {
		fmt.Fprintf(&b, "- left out: %s\n", line)
	}
	for _, t := range r.tables() {
		t.markdown(&b)
	}
	r.pictures(&b)
	_, err := io.WriteString(out, b.String())
	return err
}

func (t table) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n", t.title)
	if t.note != "" {
		fmt.Fprintf(b, "%s\n\n", t.note)
	}
	for i, row := range t.rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(b, "|%s\n", strings.Repeat("---|", len(row)))
		}
	}
}

func (r *Report) pictures(b *strings.Builder) {
	if r.All == nil || r.Clips[0].Sheet == "" {
		return
	}
	fmt.Fprintf(b, "\n## Mean offsets\n\nYellow: the reference's 68 points on average; green: to ours; grey: to the true points of rendered faces, a matter of definition.\n\n![offsets](%s)\n", offsetsFile)
	b.WriteString("\n## Pictures\n\nYellow: the reference's boxes and 68 points; green: our detector's boxes, and the points of our own loop.\n")
	for _, c := range r.Clips {
		fmt.Fprintf(b, "\n%s (%s):\n\n![%s](%s)\n", c.Name, credit(c.Name), c.Name, c.Sheet)
	}
	if r.Holdout != nil {
		b.WriteString("\nRendered pictures; yellow is the truth:\n\n![scenes](holdout-scenes.jpg)\n\n![crops](holdout-crops.jpg)\n")
	}
}

var long = regexp.MustCompile(`-?\d+\.\d{5,}(e[-+]\d+)?`)

// JSON is the report with numbers of four decimals.
func (r *Report) JSON() ([]byte, error) {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return nil, err
	}
	short := long.ReplaceAllFunc(data, func(n []byte) []byte {
		v, err := strconv.ParseFloat(string(n), 64)
		if err != nil {
			return n
		}
		return strconv.AppendFloat(nil, v, 'f', 4, 64)
	})
	return append(short, '\n'), nil
}

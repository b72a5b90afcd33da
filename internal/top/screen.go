package top

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"facetrack/internal/telemetry"
)

// View is what the user looks at: which row, in which order.
type View struct {
	chosen string // a row's key; "" for the first
	sort   order
	help   bool
	first  int      // camera at the top of its table
	keys   []string // of all rows, as they were drawn last
}

// Move goes up or down by rows.
func (v *View) Move(by int) {
	if len(v.keys) == 0 {
		return
	}
	at := max(0, slices.Index(v.keys, v.chosen)) + by
	v.chosen = v.keys[min(max(at, 0), len(v.keys)-1)]
}

// Sort takes the next order of cameras.
func (v *View) Sort() { v.sort = (v.sort + 1) % orders }

// Help shows or hides what the columns mean.
func (v *View) Help() { v.help = !v.help }

const (
	parts       = 3 // of the body that have a gap above them
	leastDetail = 4
	mostDetail  = 10
	mostNews    = 8
)

// Screen draws the rig within width and height: exactly so many lines of so many characters.
func (m *Model) Screen(v *View, width, height int) []Line {
	lines := m.head()
	if v.help {
		lines = append(lines[:1], helpText()...)
	} else {
		lines = append(lines, m.body(v, width, height-len(lines)-1)...)
	}
	blank := Line{}
	for len(lines) < height-1 {
		lines = append(lines, blank)
	}
	lines = lines[:max(height-1, 0)]
	lines = append(lines, Line{{fmt.Sprintf("q quit   ↑↓ j k choose   s sort: %s   h help", v.sort), Faint}})
	out := make([]Line, 0, height)
	for _, l := range lines[max(0, len(lines)-height):] {
		out = append(out, l.cut(width))
	}
	return out
}

// head is what is above the tables.
func (m *Model) head() []Line {
	clock := ""
	if !m.at.IsZero() {
		clock = "   " + m.at.Format("15:04:05")
	}
	lines := []Line{{{fmt.Sprintf("facetrack top   rig %s at %s%s", m.Rig, m.URL, clock), Heading}}, m.state()}
	return append(lines, gpuLines(m.gpus())...)
}

// gpuLines has a line for each GPU, and one for all of them where there are many.
func gpuLines(gpus []telemetry.GPU) (lines []Line) {
	const few = 2
	var busy, used []string
	for i, g := range gpus {
		lines = append(lines, Line{{Text: fmt.Sprintf("GPU %d  %s: %d %% busy, %s of %s", i, g.Name, g.Busy, size(g.MemoryUsed), size(g.MemoryTotal))}})
		busy, used = append(busy, strconv.Itoa(g.Busy)), append(used, strconv.FormatInt(g.MemoryUsed/1e9, 10))
	}
	if len(lines) <= few {
		return lines
	}
	return []Line{{{Text: fmt.Sprintf("%d GPUs  busy %s %%   memory %s GB", len(gpus), strings.Join(busy, " "), strings.Join(used, " "))}}}
}

// state is the line of totals, or why there are none.
func (m *Model) state() Line {
	n, silent := m.answering()
	switch {
	case m.away != "":
		return Line{{m.away, Bad}}
	case m.at.IsZero():
		return Line{{Text: "asking …"}}
	case n == 0 && !m.heard:
		return Line{{fmt.Sprintf("no process of rig %q answers: start it with facetrack up, or name the rig with --rig", m.Rig), Bad}}
	case n == 0:
		return Line{{"no process answers any more", Bad}}
	}
	all := m.cameras(byName)
	in, out, dropped := float64(unknown), float64(unknown), uint64(0)
	for _, c := range all {
		in, out, dropped = plus(in, c.in), plus(out, c.out), dropped+c.dropped
	}
	line := Line{{Text: fmt.Sprintf("%d %s   frames/s in %s, out %s   dropped %d   CPU %s %%", len(all), plural(len(all), "camera"),
		number(in, 1), number(out, 1), dropped, number(m.cpu(), 0))}}
	if len(silent) > 0 {
		line = append(line, Span{"   no " + strings.Join(silent, ", "), Bad})
	}
	return line
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

func plus(sum, v float64) float64 {
	if v < 0 {
		return sum
	}
	return max(sum, 0) + v
}

// body is both tables, all about the chosen row, and the news.
func (m *Model) body(v *View, width, height int) []Line {
	cameras := m.cameras(v.sort)
	v.keys = v.keys[:0]
	for _, c := range cameras {
		v.keys = append(v.keys, "camera "+c.name)
	}
	for _, p := range m.procs {
		v.keys = append(v.keys, p.key())
	}
	if !slices.Contains(v.keys, v.chosen) {
		v.chosen = m.heir(v.chosen)
	}
	if len(v.keys) == 0 {
		return m.news(height)
	}
	if v.chosen == "" {
		v.chosen = v.keys[0]
	}
	room := share(height-2-len(m.procs), len(cameras))
	lines := append(room.gap(), m.cameraTable(v, cameras, width, room.cameras)...)
	lines = append(append(lines, room.gap()...), m.stageTable(v)...)
	lines = append(append(lines, room.gap()...), m.detail(v, cameras, width, room.detail)...)
	return append(lines, m.news(room.news)...)
}

// room is how many rows each part of the screen has.
type room struct {
	cameras, detail, news int
	airy                  bool // a blank row above each part
}

// share divides the rows that are left between cameras, the detail of the chosen row and the news.
func share(left, cameras int) (r room) {
	r.detail, r.news = min(leastDetail, max(0, left-2)), 1
	r.cameras = min(cameras, max(1, left-r.detail-r.news))
	spare := max(0, left-r.cameras-r.detail-r.news)
	if r.airy = spare >= parts; r.airy {
		spare -= parts
	}
	more := min(spare, mostDetail-r.detail)
	r.detail += more
	r.news += min(spare-more, mostNews-r.news)
	return r
}

func (r room) gap() []Line {
	if r.airy {
		return []Line{{}}
	}
	return nil
}

func (p *process) key() string { return fmt.Sprintf("stage %s %d", p.Stage, p.PID) }

// heir is the row of the process that has taken the place of the one that was chosen.
func (m *Model) heir(key string) string {
	for _, p := range m.procs {
		if strings.HasPrefix(key, "stage "+p.Stage+" ") {
			return p.key()
		}
	}
	return ""
}

func cameraColumns(width int) []column {
	spare := max(0, width-80)
	return []column{
		{"CAMERA", 9 + min(spare/5, 23), false}, {"STATE", 8, false}, {"IN/S", 5, true}, {"OUT/S", 5, true}, {"DROPPED", 7, true},
		{"WHY", 13 + min(spare/5, 20), false}, {"P50", 5, true}, {"P99", 5, true}, {"FACES", 5, true}, {"LINKS", 9 + min(spare/5, 24), false},
	}
}

// cameraTable shows as many cameras as there is room for, the chosen one among them.
func (m *Model) cameraTable(v *View, cameras []*camera, width, shown int) []Line {
	chosen := slices.IndexFunc(cameras, func(c *camera) bool { return "camera "+c.name == v.chosen })
	if chosen >= 0 {
		v.first = min(max(v.first, chosen-shown+1), chosen)
	}
	v.first = min(v.first, max(0, len(cameras)-shown))
	columns := cameraColumns(width)
	if shown < len(cameras) {
		columns[0].title = fmt.Sprintf("%d-%d/%d", v.first+1, v.first+shown, len(cameras))
	}
	lines := []Line{heading(columns).cut(width)}
	for i, c := range cameras[v.first:min(v.first+shown, len(cameras))] {
		line := c.row(columns)
		if v.first+i == chosen {
			line = line.cut(width).styled(Chosen)
		}
		lines = append(lines, line)
	}
	return lines
}

func (c *camera) row(columns []column) Line {
	state, lost, links := Span{Text: c.stateWord()}, Span{Text: fmt.Sprint(c.dropped)}, Span{Text: c.transports()}
	if !c.running() {
		state.Style = Bad
	}
	if c.losing {
		lost.Style = Bad
	}
	if c.fallback() {
		links.Style = Warning
	}
	return row(columns, []Span{
		{Text: c.name}, state, {Text: number(c.in, 1)}, {Text: number(c.out, 1)}, lost, {Text: c.mainReason()},
		{Text: number(c.age.P50, 1)}, {Text: number(c.age.P99, 1)}, {Text: number(c.faces, 1)}, links,
	})
}

func (m *Model) stageTable(v *View) []Line {
	lines := []Line{heading(stageColumns)}
	for _, p := range m.procs {
		line := p.row(m.at)
		if p.key() == v.chosen {
			line = line.styled(Chosen)
		}
		lines = append(lines, line)
	}
	return lines
}

// detail is what is told of the chosen row, in exactly so many lines.
func (m *Model) detail(v *View, cameras []*camera, width, height int) []Line {
	var texts []string
	for _, c := range cameras {
		if "camera "+c.name == v.chosen {
			texts = c.detail()
		}
	}
	for _, p := range m.procs {
		if p.key() == v.chosen {
			texts = p.detail()
		}
	}
	var lines []Line
	for _, text := range texts {
		for _, part := range wrap(text, width) {
			lines = append(lines, Line{{Text: part}})
		}
	}
	for len(lines) < height {
		lines = append(lines, Line{})
	}
	if len(lines) > height && height > 0 {
		lines[height-1] = Line{{Text: strings.TrimRight(lines[height-1].String(), " ") + " …"}}
	}
	return lines[:height]
}

// news are the last messages, newest first.
func (m *Model) news(most int) []Line {
	var lines []Line
	for _, n := range slices.Backward(m.messages) {
		if len(lines) == most {
			break
		}
		style := Plain
		if n.Bad {
			style = Warning
		}
		lines = append(lines, Line{{n.At.Format("15:04:05") + " ", Faint}, {n.Text, style}})
	}
	return lines
}

func helpText() []Line {
	text := `
IN/S OUT/S  frames a second that capture passes on, and that the tracker does
DROPPED     frames given up since the processes started; WHY is where and why
            most of them were
P50 P99     age of the last 256 frames when the tracker was done with them, ms
FACES       faces in a frame
LINKS       how pixels come to detect and landmarks: cuda-ipc, cuda, shm, copy;
            ! where a faster way was tried: the chosen row says why not
CPU %       of one CPU
RESTARTS    how often facetrack up started the process again
WORK P99    ms of the process's own work on a frame, of its slowest camera
RUNS ON     what runs the networks; the chosen row says why

up down j k choose a camera or a stage      PgUp PgDn Home End  further
s           sort cameras by name, dropped frames, latency, frames a second
h           this help                       q  quit`
	var lines []Line
	for l := range strings.SplitSeq(text, "\n") {
		lines = append(lines, Line{{Text: l}})
	}
	return lines
}

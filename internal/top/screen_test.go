package top

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"facetrack/internal/telemetry"
)

var update = flag.Bool("update", false, "write the screens of testdata")

// golden compares a screen, blanks at the ends of lines aside, with the one that was looked at.
func golden(t *testing.T, name string, lines []Line) {
	t.Helper()
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s: go test -update writes it anew\n%s\nwant\n%s", name, b.String(), want)
	}
}

// eventful is a rig in which much has happened.
func eventful(cameras int) *Model {
	l, m := newLab(cameras).gpu(), New("lab", "nats://127.0.0.1:4222")
	m.Update(l.sample())
	l.drop("detect", "cam1", "queue-full", 1234).drop("capture", "cam1", "no-free-slot", 5)
	if cameras > 2 {
		l.state("cam2", "lost: no frame came for 3 s")
	}
	m.Update(l.after(1).sample())
	l.dead["landmarks"] = true
	m.Update(l.after(1).sample())
	m.Update(l.restart("landmarks", 5000).after(1).sample())
	m.Update(l.after(1).sample())
	l.dead["tracker"] = true
	m.Update(l.after(1).sample())
	return m
}

// manyGPUs is a machine with more GPUs than have a line each.
func manyGPUs() *Model {
	l, m := newLab(2), New("lab", "nats://127.0.0.1:4222")
	for n := range 8 {
		l.stats["detect"].GPUs = append(l.stats["detect"].GPUs, telemetry.GPU{
			UUID: fmt.Sprint(n), Name: "NVIDIA H200", Busy: 10 * n, MemoryUsed: int64(n) * gb, MemoryTotal: 150 * gb,
		})
	}
	m.Update(l.sample())
	m.Update(l.after(1).sample())
	return m
}

func TestScreens(t *testing.T) {
	begin := New("lab", "nats://127.0.0.1:4222")
	away := eventful(3)
	away.Update(Sample{At: noon, Away: "the NATS server is away: connecting again"})
	nobody := New("lab", "nats://127.0.0.1:4222")
	nobody.Update(Sample{At: noon})
	calm := New("lab", "nats://127.0.0.1:4222")
	l := newLab(2)
	calm.Update(l.sample())
	calm.Update(l.after(1).sample())
	for _, c := range []struct {
		name          string
		m             *Model
		v             View
		width, height int
	}{
		{"begin-80x24", begin, View{}, 80, 24},
		{"calm-80x24", calm, View{}, 80, 24},
		{"eight-80x24", eventful(8), View{chosen: "camera cam1"}, 80, 24},
		{"many-80x24", eventful(24), View{chosen: "camera cam17", sort: byDrops}, 80, 24},
		{"stage-80x24", eventful(3), View{chosen: "stage detect 4101"}, 80, 24},
		{"help-80x24", eventful(3), View{help: true}, 80, 24},
		{"away-80x24", away, View{}, 80, 24},
		{"nobody-80x24", nobody, View{}, 80, 24},
		{"gpus-80x24", manyGPUs(), View{}, 80, 24},
		{"eight-200x50", eventful(8), View{chosen: "camera cam1"}, 200, 50},
		{"many-200x50", eventful(64), View{}, 200, 50},
		{"small-40x10", eventful(8), View{}, 40, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			golden(t, c.name, c.m.Screen(&c.v, c.width, c.height))
		})
	}
}

// Whatever the size of the terminal, the screen has it.
func TestScreenFitsEverySize(t *testing.T) {
	for _, m := range []*Model{New("lab", "nats://here"), eventful(2), eventful(24)} {
		for width := 0; width < 120; width += 7 {
			for height := range 32 {
				v := &View{}
				m.Screen(v, width, height)
				v.Move(1000)
				lines := m.Screen(v, width, height)
				if len(lines) != height {
					t.Fatalf("%d lines in %dx%d", len(lines), width, height)
				}
				for _, l := range lines {
					if n := utf8.RuneCountInString(l.String()); n != width {
						t.Fatalf("%d characters in %dx%d: %q", n, width, height, l)
					}
				}
			}
		}
	}
}

// chosenRow is the row that stands out.
func chosenRow(lines []Line) string {
	for _, l := range lines {
		if len(l) > 0 && l[0].Style == Chosen {
			return strings.Fields(l.String())[0]
		}
	}
	return ""
}

func TestEveryRowCanBeChosen(t *testing.T) {
	m, v := eventful(24), &View{}
	want := []string{}
	for n := range 24 {
		want = append(want, fmt.Sprintf("cam%d", n))
	}
	names := m.cameras(byName)
	for i, c := range names {
		want[i] = c.name
	}
	want = append(want, "capture", "detect", "landmarks", "tracker", "lsl-out")
	for _, w := range want {
		if got := chosenRow(m.Screen(v, 80, 24)); got != w {
			t.Fatalf("chosen %q, want %q", got, w)
		}
		v.Move(1)
	}
	v.Move(1)
	if got := chosenRow(m.Screen(v, 80, 24)); got != "lsl-out" {
		t.Errorf("below the last row: %q", got)
	}
	v.Move(-1000)
	if got := chosenRow(m.Screen(v, 80, 24)); got != "cam0" {
		t.Errorf("above the first row: %q", got)
	}
	v.Sort()
	if got := chosenRow(m.Screen(v, 80, 24)); got != "cam0" || v.sort != byDrops {
		t.Errorf("sorting chose %q", got)
	}
}

// A stage that is started again stays chosen.
func TestChosenStageSurvivesItsRestart(t *testing.T) {
	l, m, v := newLab(1), New("lab", ""), &View{chosen: "stage detect 4101"}
	m.Update(l.sample())
	m.Update(l.restart("detect", 7).after(1).sample())
	if got := chosenRow(m.Screen(v, 80, 24)); got != "detect" {
		t.Errorf("chosen %q", got)
	}
}

// What needs attention stands out.
func TestStyles(t *testing.T) {
	m := eventful(3)
	for _, c := range []struct {
		text  string
		style Style
	}{{"lost", Bad}, {"shm!", Warning}, {"no answer for", Bad}, {"   no tracker", Bad}, {"tracker (process", Warning}} {
		found := false
		for _, l := range m.Screen(&View{chosen: "stage capture 4100"}, 80, 40) {
			for _, s := range l {
				found = found || strings.Contains(s.Text, c.text) && s.Style == c.style
			}
		}
		if !found {
			t.Errorf("%q does not stand out", c.text)
		}
	}
}

package lsl

import (
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestInfoValidation(t *testing.T) {
	loop := Node("loop")
	loop.Add(loop)
	for what, change := range map[string]func(*StreamInfo){
		"empty name":             func(s *StreamInfo) { s.Name = "" },
		"apostrophe in name":     func(s *StreamInfo) { s.Name = "Ann's face" },
		"apostrophe in type":     func(s *StreamInfo) { s.Type = "'" },
		"empty source id":        func(s *StreamInfo) { s.SourceID = "" },
		"apostrophe in source":   func(s *StreamInfo) { s.SourceID = "a'b" },
		"line break in source":   func(s *StreamInfo) { s.SourceID = "a\r\nb" },
		"apostrophe in session":  func(s *StreamInfo) { s.SessionID = "a'b" },
		"not UTF-8":              func(s *StreamInfo) { s.Name = "\xff" },
		"long name":              func(s *StreamInfo) { s.Name = strings.Repeat("x", 2000) },
		"no channels":            func(s *StreamInfo) { s.ChannelCount = 0 },
		"negative channels":      func(s *StreamInfo) { s.ChannelCount = -2 },
		"negative rate":          func(s *StreamInfo) { s.NominalRate = -1 },
		"rate NaN":               func(s *StreamInfo) { s.NominalRate = math.NaN() },
		"infinite rate":          func(s *StreamInfo) { s.NominalRate = math.Inf(1) },
		"no format":              func(s *StreamInfo) { s.Format = "" },
		"unknown format":         func(s *StreamInfo) { s.Format = "float16" },
		"one of two channels":    func(s *StreamInfo) { s.Desc.Channels = []Channel{{Label: "a"}} },
		"element without name":   func(s *StreamInfo) { s.Desc.Extra = []*Element{Leaf("", "x")} },
		"element with bad name":  func(s *StreamInfo) { s.Desc.Extra = []*Element{Leaf("a b", "x")} },
		"name like a tag":        func(s *StreamInfo) { s.Desc.Extra = []*Element{Leaf("a><b", "x")} },
		"name starts with digit": func(s *StreamInfo) { s.Desc.Extra = []*Element{Leaf("1a", "x")} },
		"nil element":            func(s *StreamInfo) { s.Desc.Extra = []*Element{nil} },
		"text and children": func(s *StreamInfo) {
			s.Desc.Extra = []*Element{{Name: "a", Text: "x", Children: []*Element{Leaf("b", "")}}}
		},
		"endless element": func(s *StreamInfo) { s.Desc.Extra = []*Element{loop} },
	} {
		info := testInfo(t)
		change(&info)
		if o, err := NewOutlet(t.Context(), info, Options{LoopbackOnly: true}); !errors.Is(err, ErrInvalidInfo) {
			t.Errorf("%s: %v, want ErrInvalidInfo", what, err)
			if err == nil {
				_ = o.Close()
			}
		}
	}
}

func TestOptionValidation(t *testing.T) {
	for what, opts := range map[string]Options{
		"port beyond 65535":    {BasePort: 70000},
		"negative range":       {PortRange: -1},
		"negative connections": {MaxConnections: -1},
		"negative buffer":      {BufferSamples: -1},
		"huge buffer":          {BufferBytes: 1 << 40},
		"contradiction":        {LoopbackOnly: true, Interfaces: []string{"lo"}},
	} {
		if o, err := NewOutlet(t.Context(), testInfo(t), opts); !errors.Is(err, ErrInvalidInfo) {
			t.Errorf("%s: %v, want ErrInvalidInfo", what, err)
			if err == nil {
				_ = o.Close()
			}
		}
	}
	opts, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	// 360 seconds of a regular stream, of 100 samples a second otherwise; at least one.
	got := []int{opts.bufferSamples(60), opts.bufferSamples(0), opts.bufferSamples(0.001)}
	if !slices.Equal(got, []int{21600, 36000, 1}) {
		t.Errorf("default buffers %v", got)
	}
}

func TestSessionPrecedence(t *testing.T) {
	for _, c := range []struct{ info, opts, want string }{{"a", "b", "a"}, {"", "b", "b"}, {"", "", "default"}} {
		info := testInfo(t)
		info.SessionID = c.info
		if o := open(t, info, Options{LoopbackOnly: true, SessionID: c.opts}); o.Info().SessionID != c.want {
			t.Errorf("%v: session %q", c, o.Info().SessionID)
		}
	}
}

func TestXML(t *testing.T) {
	info := testInfo(t)
	info.Desc.Channels = []Channel{{Label: "a&b"}, {}}
	text, err := info.XML()
	for _, want := range []string{"<?xml", "<name>TestXML</name>", "<session_id>default</session_id>", "<label>a&amp;b</label>", "<uid></uid>", "</info>"} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v, no %s in %s", err, want, text)
		}
	}
	info.ChannelCount = 0
	if _, err := info.XML(); !errors.Is(err, ErrInvalidInfo) {
		t.Errorf("no channels: %v", err)
	}
}

// TestDocument compares a whole document with the one written by hand in testdata.
func TestDocument(t *testing.T) {
	info := StreamInfo{
		Name: "Face <1> & more", Type: "MoCap", ChannelCount: 2, NominalRate: 1_000_000, Format: Float32, SourceID: "rig-1", SessionID: "default",
		Desc: Desc{
			Channels: []Channel{
				{Label: "x", Type: "PositionX", Unit: "meters", Fields: []*Element{Leaf("marker", "head")}},
				{Label: "a\"b\x01", Type: "Confidence"},
			},
			Acquisition: &Acquisition{Manufacturer: "ACME", Model: "Cam 3", Fields: []*Element{Node("settings", Leaf("gain", "2"))}},
			Synchronization: &Synchronization{
				Offset: &Offset{Mean: 0.025, RMS: 0.001, Median: 0.024, Percentile5: 0.02, Percentile95: 0.03}, CanDropSamples: true,
			},
			Setup: &Setup{Name: "desk", Fields: []*Element{Node("bounds", Leaf("minimum_x", "-1"))}},
			Extra: []*Element{Leaf("note", "grün")},
		},
	}
	id := identity{uid: "0-1", createdAt: 7.25, hostname: "lab", dataPort: 16572, servicePort: 16573}
	want, err := os.ReadFile("testdata/document.xml")
	if err != nil {
		t.Fatal(err)
	}
	// The golden file is indented for people; the document has no white space between elements.
	var flat strings.Builder
	for line := range strings.Lines(string(want)) {
		flat.WriteString(strings.TrimSpace(line))
	}
	got := strings.ReplaceAll(string(render(document(info, id, info.Desc.element()))), "\n", "")
	if got != flat.String() {
		t.Errorf("document\n%s\nwant\n%s", got, flat.String())
	}
}

// TestShortInfoFitsIntoDatagram: the longest texts allowed, every byte escaped, still fit.
func TestShortInfoFitsIntoDatagram(t *testing.T) {
	long := strings.Repeat(`"`, maxText)
	doc := render(document(StreamInfo{Name: long, Type: long, SourceID: long, SessionID: long}, identity{}, Node("desc")))
	if len(doc) > 60_000 {
		t.Errorf("short info has %d bytes", len(doc))
	}
}

func TestDescDoesNotChangeItsInput(t *testing.T) {
	fields := make([]*Element, 1, 10)
	fields[0] = Leaf("marker", "head")
	d := Desc{Channels: []Channel{{Label: "x", Fields: fields}}, Setup: &Setup{Name: "s", Fields: fields}}
	first, second := render(d.element()), render(d.element())
	if string(first) != string(second) || len(fields) != 1 || fields[0].Name != "marker" {
		t.Errorf("rendered %s, then %s; fields %v", first, second, fields)
	}
}

func TestSeconds(t *testing.T) {
	if got := Seconds(123_456_789_012); got != 123.456789012 {
		t.Errorf("Seconds = %v", got)
	}
	a, b := Now(), Now()
	if a <= 0 || b < a {
		t.Errorf("Now = %v, then %v", a, b)
	}
}

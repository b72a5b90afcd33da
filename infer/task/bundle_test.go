package task_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"facetrack/infer/task"
	mb "facetrack/internal/modelbuild"
)

func TestMembers(t *testing.T) {
	model := mb.EveryTFLite().TFLite()
	b, err := task.Open(mb.Task(mb.Member{Name: "net.tflite", Data: model}, mb.Member{Name: "empty.txt"}))
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Names(); !slices.Equal(got, []string{"net.tflite", "empty.txt"}) {
		t.Errorf("names %q", got)
	}
	if got, ok := b.Member("net.tflite"); !ok || !bytes.Equal(got, model) {
		t.Errorf("member of %d bytes, found %t; want the %d bytes that went in", len(got), ok, len(model))
	}
	if got, ok := b.Member("empty.txt"); !ok || len(got) != 0 {
		t.Errorf("empty member of %d bytes, found %t", len(got), ok)
	}
	if _, ok := b.Member("other"); ok {
		t.Error("a member that is not there was found")
	}
}

// No cut of a bundle opens, and none panics.
func TestTruncated(t *testing.T) {
	data := mb.EveryTask()
	for n := range data {
		if _, err := task.Open(data[:n]); !errors.Is(err, task.ErrMalformed) {
			t.Fatalf("the first %d of %d bytes: error %v", n, len(data), err)
		}
	}
}

func TestCorruptMemberIsNamed(t *testing.T) {
	data := mb.EveryTask()
	at := bytes.Index(data, []byte("metadata"))
	data[at] ^= 1
	_, err := task.Open(data)
	if !errors.Is(err, task.ErrMalformed) || !strings.Contains(err.Error(), `"notes.txt"`) || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("error %v; want one about the checksum of notes.txt", err)
	}
}

func TestRefuses(t *testing.T) {
	many := make([]mb.Member, task.MaxMembers+1)
	for i := range many {
		many[i].Name = fmt.Sprint(i)
	}
	cases := map[string][]byte{
		"stored":        compressed(t),
		"appears twice": mb.Task(mb.Member{Name: "a"}, mb.Member{Name: "a"}),
		"65 members":    mb.Task(many...),
		"0 members":     mb.Task(),
		"zip directory": []byte("TFL3 is not a zip archive"),
	}
	for says, data := range cases {
		if _, err := task.Open(data); !errors.Is(err, task.ErrMalformed) || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v; want one that says %q", err, says)
		}
	}
}

func compressed(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create("deflated")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

package models

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"facetrack/infer"
	_ "facetrack/infer/backends" // whatever this binary has
	"facetrack/internal/testutil"
	"facetrack/topology"
)

func assetStore(t *testing.T) *Store {
	t.Helper()
	return &Store{models: All(), dirs: []string{filepath.Join(testutil.Assets(t), "models")}}
}

func TestDetectorOpensEveryKind(t *testing.T) {
	s := assetStore(t)
	for name, want := range map[string]struct {
		kind string
		size int
	}{"yunet-320": {"yunet", 320}, "yunet-640": {"yunet", 640}, "blazeface": {"blazeface", 128}, "face-landmarker": {"blazeface", 128}, OwnDetector: {"yunet", 320}} {
		kind, session, err := s.Detector(name, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if in := session.Inputs(); kind != want.kind || len(in) != 1 || in[0].Len() != want.size*want.size*3 {
			t.Errorf("%s: kind %s, inputs %v", name, kind, in)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestLandmarksOpensTheBundle(t *testing.T) {
	l, err := assetStore(t).Landmarks("face-landmarker", Options{Infer: infer.Options{MaxBatch: 2}})
	if err != nil {
		t.Fatal(err)
	}
	if n := l.Points.Inputs()[0].Len(); n != 192*192*3 {
		t.Errorf("face points read %d values", n)
	}
	if n := l.Blendshapes.Outputs()[0].Len(); n != 52 {
		t.Errorf("%d blendshapes", n)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
}

func TestStoreReadsTheHeadAlone(t *testing.T) {
	s := fakeStore(t, serve(content))
	own := zipped(t, map[string][]byte{geometryMember: metadata(threeVertices, threeBasis)})
	if set, head, err := s.Head(own, true); err != nil || set != topology.MediaPipe || len(head) != 3 {
		t.Errorf("own bundle: %v, %v, %v", set, head, err)
	}
	if _, _, err := s.Head(own, false); !errors.Is(err, ErrHash) {
		t.Errorf("own bundle, not allowed: %v", err)
	}
	for _, name := range []string{"a.task", "a.onnx"} {
		noise := put(t, t.TempDir(), name, "noise")
		if _, _, err := s.Head(noise, true); !errors.Is(err, ErrContent) || !strings.Contains(err.Error(), noise) {
			t.Errorf("noise: %v", err)
		}
	}
	set, head, err := assetStore(t).Head("face-landmarker", false)
	if err != nil || set != topology.MediaPipe || len(head) != 468 {
		t.Errorf("%v, %v, %v", set, head, err)
	}
}

// zipped stores members as a bundle does.
func zipped(t *testing.T, members map[string][]byte) string {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for name, data := range members {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return put(t, t.TempDir(), "bundle.task", buf.String())
}

func TestFilesThatAreNoModelsAreRefused(t *testing.T) {
	s := fakeStore(t, serve(content))
	loose := Options{Unverified: true}
	noise := "not a model at all"
	for name, path := range map[string]string{
		"onnx noise":     put(t, t.TempDir(), "a.onnx", noise),
		"tflite noise":   put(t, t.TempDir(), "a.tflite", noise),
		"task noise":     put(t, t.TempDir(), "a.task", noise),
		"extension":      put(t, t.TempDir(), "a.bin", noise),
		"empty":          put(t, t.TempDir(), "e.onnx", ""),
		"without member": zipped(t, map[string][]byte{"readme": []byte("x")}),
		"bad member":     zipped(t, map[string][]byte{detectorMember: []byte(noise)}),
	} {
		if _, session, err := s.Detector(path, loose); !errors.Is(err, ErrContent) || session != nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v; want ErrContent naming the file", name, err)
		}
	}
	for name, path := range map[string]string{
		"noise":       put(t, t.TempDir(), "a.task", noise),
		"no geometry": zipped(t, map[string][]byte{landmarksMember: []byte(noise)}),
		"no networks": zipped(t, map[string][]byte{geometryMember: metadata(threeVertices, threeBasis)}),
		"bad network": zipped(t, map[string][]byte{geometryMember: metadata(threeVertices, threeBasis), landmarksMember: []byte(noise)}),
		"onnx noise":  put(t, t.TempDir(), "a.onnx", noise),
		"a detector":  put(t, t.TempDir(), "d.onnx", string(ownDetector)),
	} {
		if _, err := s.Landmarks(path, loose); !errors.Is(err, ErrContent) || !strings.Contains(err.Error(), path) {
			t.Errorf("bundle %s: error %v; want ErrContent naming the file", name, err)
		}
	}
	if _, _, err := s.Detector("tiny", Options{}); !errors.Is(err, ErrMissing) {
		t.Errorf("missing: %v", err)
	}
}

func TestRenamedPublicModelOpensByPath(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(testutil.Assets(t), "models", "yunet_n_320_320.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	path := put(t, t.TempDir(), "my.onnx", string(data))
	kind, session, err := assetStore(t).Detector(path, Options{})
	if err != nil || kind != "yunet" {
		t.Fatalf("kind %s, %v", kind, err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

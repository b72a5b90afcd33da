package app

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"facetrack/internal/testmodels"
	"facetrack/ipc"
	"facetrack/topology"
)

// upWith runs a rig of threads on frames with a drawn face, and returns what it recorded and said.
func upWith(t *testing.T, models, frames string) (tracks []ipc.Tracks, said string) {
	t.Helper()
	dir := t.TempDir()
	recording := filepath.Join(dir, "a.jsonl")
	file := write(t, "f.yaml", "rig: apptest\nring: {dir: "+t.TempDir()+"}\ninfer: {backend: reference}\nlsl: {enabled: false}\n"+models)
	code, _, said := run(t, "up", "--threads", "--config", file, "--listen", "127.0.0.1:-1", "--data-dir", dir,
		"--source", "synthetic:faces=1,frames="+frames, "--pace", "max", "--record", recording)
	if code != 0 {
		t.Fatalf("status %d: %s", code, said)
	}
	f, err := os.Open(recording)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m, err := ipc.DecodeTracks(lines.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		tracks = append(tracks, m)
	}
	return tracks, said
}

// A face network of our own kind beside another detector: its points, their poses and gaze reach the recording.
func TestUpWithAFaceNetworkOfOurOwnKind(t *testing.T) {
	files, err := testmodels.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tracks, said := upWith(t, "detect: {model: "+files.Detector+"}\nlandmarks: {model: "+files.Face+"}\n", "12")
	if len(tracks) != 12 || !strings.Contains(said, "landmarks: model "+files.Face+"\n") {
		t.Fatalf("%d frames, said %q", len(tracks), said)
	}
	last := tracks[11]
	if last.Topology != topology.ICT.Name || len(last.Faces) != 1 {
		t.Fatalf("%d faces of %q", len(last.Faces), last.Topology)
	}
	if f := last.Faces[0]; len(f.Points) != topology.ICT.Count || len(f.Blendshapes) != 52 || len(f.Confidence) != len(f.Points) || f.Pose == nil || f.Gaze == nil || f.Pose.Z < 30 {
		t.Errorf("%d points, %d blendshapes, pose %+v, gaze %+v", len(f.Points), len(f.Blendshapes), f.Pose, f.Gaze)
	}
}

// Where no model is, those that are part of the program run, and up says so.
func TestUpWithoutAnyModelFile(t *testing.T) {
	emptyMachine(t)
	tracks, said := upWith(t, "", "3")
	if len(tracks) != 3 || tracks[2].Topology != topology.ICT.Name {
		t.Fatalf("%d frames %+v", len(tracks), tracks)
	}
	for _, want := range []string{
		"detect: model facetrack-detector: public model yunet-320 not found: facetrack models fetch\n",
		"landmarks: model facetrack-face: public model face-landmarker not found: facetrack models fetch\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q does not say %q", said, want)
		}
	}
}

func TestUpWithANamedModelThatIsMissing(t *testing.T) {
	emptyMachine(t)
	for key, want := range map[string]string{"detect": "yunet-320", "landmarks": "face-landmarker"} {
		code, _, said := run(t, "up", "--threads", "--config", write(t, "f.yaml", "ring: {dir: "+t.TempDir()+"}\n"+key+": {model: "+want+"}\n"),
			"--listen", "127.0.0.1:-1", "--data-dir", t.TempDir(), "--source", "synthetic:faces=1,frames=1")
		if code == 0 {
			t.Errorf("%s ran", want)
		}
		expectLine(t, said, "facetrack models fetch "+want)
	}
}

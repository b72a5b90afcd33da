package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, path string, environ ...string) (*Loaded, error) {
	t.Helper()
	l, err := Read(path, environ)
	if err == nil {
		err = l.Finish()
	}
	return l, err
}

func TestFlagEnvironmentFileDefault(t *testing.T) {
	path := file(t, "detect:\n  every: 7\n  max_faces: 9\n  score_threshold: 0.5\ncameras:\n  - source: a\n    pace: max\n")
	l, err := Read(path, []string{"FACETRACK_DETECT_EVERY=3", "FACETRACK_DETECT_MAX_FACES=4", "FACETRACK_RING_TRANSPORTS=shm, copy", "FACETRACK_RIG=12", "FACETRACK_CUDA_GPU="})
	if err != nil {
		t.Fatal(err)
	}
	l.Detect.Every = 2
	l.Flag("--every", "detect.every")
	l.Cameras[0].Pace = "realtime"
	l.Flag("--pace", "cameras[].pace")
	if err := l.Finish(); err != nil {
		t.Fatal(err)
	}
	if l.Detect.Every != 2 || l.Detect.MaxFaces != 4 || l.Detect.ScoreThreshold != 0.5 || l.Detect.NMSThreshold != 0.3 ||
		!reflect.DeepEqual(l.Ring.Transports, []string{"shm", "copy"}) || l.Rig != "12" || l.CUDA.GPU != "auto" {
		t.Errorf("%+v", l.Config)
	}
	for key, want := range map[string]string{
		"detect.every": "--every", "detect.max_faces": "FACETRACK_DETECT_MAX_FACES", "detect.score_threshold": path + " line 4",
		"detect.nms_threshold": OriginDefault, "cameras[0].source": path + " line 6", "cameras[0].pace": "--pace", "rig": "FACETRACK_RIG",
	} {
		if got := l.Origin(key); got != want {
			t.Errorf("%s is from %q, want %q", key, got, want)
		}
	}
	all := map[string]Sourced{}
	for _, v := range l.Sourced() {
		all[v.Key] = v
	}
	if v := all["cameras.cam0.pace"]; v.Text != "realtime" || v.Origin != "--pace" {
		t.Errorf("%+v", v)
	}
	if v := all["detect.max_faces"]; v.Text != "4" || v.Origin != "FACETRACK_DETECT_MAX_FACES" {
		t.Errorf("%+v", v)
	}
}

func TestErrorsNameWhereAValueIsFrom(t *testing.T) {
	good := file(t, "detect: {every: 7}\n")
	for want, environ := range map[string]string{
		`FACETRACK_DETECT_EVERY: invalid configuration: detect.every is "0"; it must be 1 to 1000`:                        "FACETRACK_DETECT_EVERY=0",
		`FACETRACK_DETECT_EVERY: invalid configuration: detect.every is "2.5"; it must be a whole number`:                 "FACETRACK_DETECT_EVERY=2.5",
		`FACETRACK_DETECT_EVERY: invalid configuration: detect.every is "many":`:                                          "FACETRACK_DETECT_EVERY=many",
		`FACETRACK_RING_TRANSPORTS: invalid configuration: ring.transports is "usb"; it must be one of ["cuda-ipc" "shm"`: "FACETRACK_RING_TRANSPORTS=usb",
		`FACETRACK_CAMERAS: invalid configuration: cameras is "[{sorce: x}]": unknown key "sorce" (did you mean "source"`: "FACETRACK_CAMERAS=[{sorce: x}]",
		`FACETRACK_CAMERAS: invalid configuration: cameras[0].fps is "-1"; it must be 0 to 1000`:                          "FACETRACK_CAMERAS=[{source: x, fps: -1}]",
		`FACETRACK_LSL_ENABLED: invalid configuration: lsl.enabled is "maybe":`:                                           "FACETRACK_LSL_ENABLED=maybe",
	} {
		_, err := load(t, good, environ)
		if !errors.Is(err, ErrInvalid) || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s:\n got %v\nwant %s", environ, err, want)
		}
	}
	bad := file(t, "detect:\n  every: 2.5\n")
	if _, err := load(t, bad); err == nil || err.Error() != bad+` line 2: invalid configuration: detect.every is "2.5"; it must be a whole number` {
		t.Errorf("a fraction in the file: %v", err)
	}
	if _, err := load(t, filepath.Join(t.TempDir(), "none.yaml")); err == nil || !strings.HasPrefix(err.Error(), "configuration: open ") {
		t.Errorf("no file: %v", err)
	}
	l, err := Read("", nil)
	if err != nil {
		t.Fatal(err)
	}
	l.CUDA.GPU = "first"
	l.Flag("--gpu", "cuda.gpu")
	if err := l.Finish(); err == nil || !strings.HasPrefix(err.Error(), `--gpu: invalid configuration: cuda.gpu is "first"`) {
		t.Errorf("a flag: %v", err)
	}
}

// What is wrong in the file does no harm where the environment says better.
func TestEnvironmentRepairsAFile(t *testing.T) {
	l, err := load(t, file(t, "detect: {every: 0}\n"), "FACETRACK_DETECT_EVERY=4")
	if err != nil || l.Detect.Every != 4 {
		t.Errorf("%v", err)
	}
}

func TestVariablesThatLookLikeSettings(t *testing.T) {
	l, err := load(t, "", "FACETRACK_DETECT_EVRY=3", "FACETRACK_ASSETS=/x", "FACETRACK_BIN=/y", "FACETRACK_FAULTS_LSL_OUT=x", "FACETRACK_SOMETHING_ELSE_ALTOGETHER=1", "HOME=/")
	want := []string{"environment variable FACETRACK_DETECT_EVRY is no setting (did you mean FACETRACK_DETECT_EVERY?)"}
	if err != nil || !reflect.DeepEqual(l.Warnings, want) {
		t.Errorf("%q, %v; want %q", l.Warnings, err, want)
	}
}

func TestEveryVariableIsOfOneKey(t *testing.T) {
	n := 0
	for _, key := range paths() {
		if !strings.Contains(key, "[]") {
			n++
		}
	}
	if v := variables(); len(v) != n || v["FACETRACK_TRACKER_SMOOTHING_POSE_BETA"] != "tracker.smoothing.pose.beta" {
		t.Errorf("%d variables for %d keys", len(v), n)
	}
}

package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The test program is facetrack when it is started with a command, as a program that starts itself does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		os.Exit(Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func TestDoctor(t *testing.T) {
	code, stdout, stderr := run(t, "doctor", "--gpu", "off")
	if code != 0 || stderr != "" || !strings.Contains(stdout, "ok    round trip by shm ") || !strings.Contains(stdout, "Transport on this machine: shm (") {
		t.Errorf("status %d, stderr %q\n%s", code, stderr, stdout)
	}
}

func TestDoctorJSON(t *testing.T) {
	code, stdout, stderr := run(t, "doctor", "--gpu", "off", "--json")
	var r struct {
		Machine   struct{ Cores int }
		Version   string
		Checks    []struct{ Name, Status, Seen, Cure string }
		Transport string
		RoundTrip map[string]struct {
			OK bool    `json:"ok"`
			US float64 `json:"p50_us"`
		} `json:"roundtrip"`
	}
	err := json.Unmarshal([]byte(stdout), &r)
	if code != 0 || stderr != "" || err != nil || r.Machine.Cores < 1 || r.Version == "" || len(r.Checks) < 10 || r.Transport != "shm" ||
		!r.RoundTrip["shm"].OK || r.RoundTrip["shm"].US <= 0 {
		t.Errorf("status %d, stderr %q, %v\n%s", code, stderr, err, stdout)
	}
}

func TestDoctorFindsABrokenRingFolder(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	code, stdout, stderr := run(t, "doctor", "--gpu", "off", "--dir", none)
	if code != 1 || !strings.Contains(stdout, "FAIL  ring folder ") || !strings.Contains(stdout, "→ mount a tmpfs there") {
		t.Errorf("status %d\n%s", code, stdout)
	}
	expectLine(t, stderr, "facetrack: ", "FAIL")
	file := write(t, "f.yaml", "ring: {dir: "+none+"}\ncuda: {gpu: off}\n")
	if code, stdout, _ := run(t, "doctor", "--config", file); code != 1 || !strings.Contains(stdout, none) {
		t.Errorf("with a file: status %d\n%s", code, stdout)
	}
}

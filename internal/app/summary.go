package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"facetrack/internal/latency"
	"facetrack/internal/ledger"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/internal/version"
	"facetrack/ipc"
)

// Summary is the account of a run, as written by --summary.
type Summary struct {
	Rig       string                   `json:"rig"`
	Version   string                   `json:"version"`
	Commit    string                   `json:"commit"`
	Mode      string                   `json:"mode"` // "processes" or "threads"
	Started   time.Time                `json:"started"`
	DurationS float64                  `json:"duration_s"`
	Cameras   map[string]CameraSummary `json:"cameras"`
	LatencyMS ledger.Latency           `json:"latency_ms"` // of all cameras together
	// StageMS is the time from the message before a stage's to its own, of all cameras together.
	StageMS   map[string]latency.Percentiles `json:"stage_ms"`
	Restarts  map[string]int                 `json:"restarts"` // of each stage
	Backends  map[string]string              `json:"backends"` // what runs the networks of a stage
	Models    map[string]string              `json:"models"`   // which those are, names of files without their folder
	Recording *Recording                     `json:"recording,omitempty"`
	XDF       *XDFRecording                  `json:"xdf,omitempty"`
}

// CameraSummary is the account of one camera: captured = tracked + sum of dropped.
type CameraSummary struct {
	ledger.Summary
	Links  map[string]telemetry.Link `json:"links"`   // by stage
	WorkMS map[string]float64        `json:"work_ms"` // each stage's own work on a frame, mean, ms
}

// Recording says what was recorded.
type Recording struct {
	File  string `json:"file"`
	Lines uint64 `json:"lines"`
	Bytes int64  `json:"bytes"`
	Error string `json:"error,omitempty"`
}

// XDFRecording says what was recorded in XDF.
type XDFRecording struct {
	File    string `json:"file"`
	Samples uint64 `json:"samples"` // of all streams
	Error   string `json:"error,omitempty"`
}

func (r *rig) summary(restarts map[string]int) Summary {
	s := Summary{
		Rig: r.cfg.Rig, Version: version.SemVer, Commit: version.Commit(), Mode: "processes",
		Started: r.begin, DurationS: time.Since(r.begin).Seconds(), Restarts: restarts,
		Cameras: map[string]CameraSummary{}, Backends: map[string]string{},
		Models: map[string]string{stage.Detect: filepath.Base(r.cfg.Detect.Model), stage.Landmarks: filepath.Base(r.cfg.Landmarks.Model)},
	}
	s.LatencyMS, s.StageMS = r.monitor.Ledger.AllLatency()
	if r.cmd.Threads {
		s.Mode = "threads"
	}
	accounts := r.monitor.Ledger.Summaries()
	for _, c := range slices.Concat(r.cfg.Cameras, r.gone) {
		account, ok := accounts[c.Name]
		if !ok {
			account = ledger.Empty()
		}
		s.Cameras[c.Name] = CameraSummary{Summary: account, Links: map[string]telemetry.Link{}, WorkMS: map[string]float64{}}
	}
	for name, st := range r.last {
		if st.Backend != "" {
			s.Backends[name] = st.Backend
		}
		for camera, c := range st.Cameras {
			if c.Link != nil && s.Cameras[camera].Links != nil {
				s.Cameras[camera].Links[name] = *c.Link
			}
			if s.Cameras[camera].WorkMS != nil {
				s.Cameras[camera].WorkMS[name] = c.WorkMS.Mean
			}
		}
	}
	if r.record != nil {
		lines, size := r.record.Lines()
		s.Recording = &Recording{File: r.record.Path(), Lines: lines, Bytes: size}
		if err := r.record.Err(); err != nil {
			s.Recording.Error = err.Error()
		}
	}
	if r.xdf != nil {
		s.XDF = &XDFRecording{File: r.xdf.path, Samples: r.xdf.writer.Samples()}
		if err := r.xdf.Err(); err != nil {
			s.XDF.Error = err.Error()
		}
	}
	return s
}

func (s Summary) write(path string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(path, append(data, '\n'))
}

// writeWhole writes all or nothing: it takes the place of the empty file that claimSummary has made.
func writeWhole(path string, data []byte) error {
	part := path + ".part"
	if err := os.WriteFile(part, data, 0o600); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// verdict is an error when the run gave nothing, or less than its sources hold.
func (s Summary) verdict() error {
	var captured, tracked uint64
	for name, c := range s.Cameras {
		if c.End == ipc.EndCorrupt {
			return fmt.Errorf("camera %s: the source is damaged; frames up to the damage were tracked", name)
		}
		captured, tracked = captured+c.Captured, tracked+c.Tracked
	}
	switch {
	case captured == 0:
		return errors.New("no camera gave a frame")
	case tracked == 0:
		return fmt.Errorf("none of %d frames was tracked", captured)
	}
	return nil
}

// print shows the summary as tables.
func (s Summary) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(cells ...any) { _, _ = fmt.Fprintln(w, strings.TrimSuffix(fmt.Sprintln(cells...), "\n")) }
	row()
	row("camera\tpeople\tframes/s\tcaptured\ttracked\tdropped\tcapture→tracks ms: p50\tp95\tp99\tmax")
	names := slices.Sorted(maps.Keys(s.Cameras))
	for _, name := range names {
		c := s.Cameras[name]
		l := c.LatencyMS.CaptureToTracks
		_, _ = fmt.Fprintf(w, "%s\t%d\t%.1f\t%d\t%d\t%d\t%.1f\t%.1f\t%.1f\t%.1f\n",
			name, len(c.Identities), c.FPS, c.Captured, c.Tracked, c.TotalDropped(), l.P50, l.P95, l.P99, l.Max)
	}
	_ = w.Flush()
	for _, name := range names {
		c := s.Cameras[name]
		if c.End != "" && c.End != ipc.EndOfSource { // which nobody needs to be told of
			_, _ = fmt.Fprintf(out, "  %s ended: %s\n", name, c.End)
		}
		for _, reason := range c.SortedDrops() {
			_, _ = fmt.Fprintf(out, "  %s dropped %d: %s\n", name, c.Dropped[reason], reason)
		}
		for _, stage := range slices.Sorted(maps.Keys(c.Links)) {
			_, _ = fmt.Fprintf(out, "  %s → %s: %s\n", name, stage, c.Links[stage])
		}
	}
	for _, stage := range slices.Sorted(maps.Keys(s.Restarts)) {
		if n := s.Restarts[stage]; n > 0 {
			_, _ = fmt.Fprintf(out, "  %s was started again %d time(s)\n", stage, n)
		}
	}
	if s.Recording != nil {
		_, _ = fmt.Fprintf(out, "recorded %d frames in %s\n", s.Recording.Lines, s.Recording.File)
	}
	if s.XDF != nil {
		_, _ = fmt.Fprintf(out, "recorded %d samples in %s\n", s.XDF.Samples, s.XDF.File)
	}
}

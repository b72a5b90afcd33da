package config

import (
	"reflect"
	"regexp"
	"strings"
)

// span is what a number may be.
type span struct{ low, high float64 }

// ranges of the numbers, by key; [] stands for each entry of a list. The schema has them as well.
var ranges = map[string]span{
	"cameras[].width":               {0, 16384},
	"cameras[].height":              {0, 16384},
	"cameras[].fps":                 {0, 1000},
	"cameras[].hfov_degrees":        {0, 175},
	"cameras[].latency_ms":          {0, 10_000},
	"cameras[].duration_s":          {0, 1e9},
	"participants[].identity":       {0, 1_000_000},
	"participants[].interocular_mm": {30, 100},
	"ring.slots":                    {2, 256},
	"ring.min_slots":                {2, 256},
	"infer.batch_wait_ms":           {0, 1000},
	"infer.max_batch":               {1, 1024},
	"infer.threads":                 {0, 256},
	"infer.workers":                 {0, 64},
	"detect.every":                  {1, 1000},
	"detect.score_threshold":        {0, 1},
	"detect.nms_threshold":          {0, 1},
	"detect.max_faces":              {1, 64},
	"detect.max_queue":              {1, 256},
	"landmarks.min_presence":        {0, 1},
	"landmarks.max_faces":           {1, 64},
	"landmarks.max_queue":           {1, 256},
	"tracker.memory_s":              {0, 3600},
	"tracker.reidentify_s":          {0, 86400},
	"tracker.max_identities":        {1, 1024},
	"lsl.base_port":                 {1, 65535},
	"lsl.port_range":                {1, 65535},
	"lsl.discovery_port":            {1, 65535},
	"lsl.max_slots":                 {1, 256},
	"lsl.slots":                     {0, 64},
	"synchrony.rate_hz":             {1, 120},
	"synchrony.window_s":            {0.1, 300},
	"synchrony.step_s":              {0.01, 300},
	"synchrony.max_lag_s":           {0.1, 60},
	"synchrony.derivative_s":        {0.01, 10},
	"synchrony.baseline_s":          {0.1, 300},
	"synchrony.sustained_s":         {0.1, 300},
	"store.max_age_h":               {0, 87_600},
	"store.max_gb":                  {0.001, 100_000},
}

// filterRanges are those of each filter.
var filterRanges = map[string]span{"min_cutoff_hz": {1e-4, 1000}, "beta": {0, 1e6}, "d_cutoff_hz": {1e-4, 1000}}

func init() {
	for _, filter := range []string{"points", "blendshapes", "pose", "gaze"} {
		for name, s := range filterRanges {
			ranges["tracker.smoothing."+filter+"."+name] = s
		}
	}
}

// words that a text may be, by key.
var words = map[string][]string{
	"cameras[].pace":    {"realtime", "max"},
	"ring.transports[]": {"cuda-ipc", "shm", "copy"},
	"cuda.sync":         {"auto", "events", "memops"},
	"infer.backend":     {"auto", "cpu", "cuda", "reference"},
	"infer.precision":   {"auto", "fp16", "fp32"},
	"infer.mode":        {"latency", "balanced", "throughput"},
	"store.kinds[]":     {"landmarks", "tracks", "synchrony", "events", "drops", "end", "detections", "frame"},
}

// validateRanges checks every number that has a range and every text that is one of several words.
func (c Config) validateRanges() error {
	var first error
	walk(reflect.ValueOf(c), "", indexed, func(key string, v reflect.Value) {
		pattern := patternOf(key)
		if first != nil || strings.HasPrefix(pattern, "synchrony.") && !c.Synchrony.Enabled {
			return
		}
		first = check(key, pattern, v)
	})
	return first
}

func check(key, pattern string, v reflect.Value) error {
	if list, ok := v.Interface().([]string); ok && words[pattern+"[]"] != nil {
		for _, word := range list {
			if err := oneOf(key, word, words[pattern+"[]"]...); err != nil {
				return err
			}
		}
		return nil
	}
	if allowed := words[pattern]; allowed != nil {
		return oneOf(key, v.String(), allowed...)
	}
	s, ok := ranges[pattern]
	switch {
	case !ok:
		return nil
	case v.Kind() == reflect.Int:
		return between(key, int(v.Int()), int(s.low), int(s.high))
	default:
		return between(key, v.Float(), s.low, s.high)
	}
}

var number = regexp.MustCompile(`\[\d+\]`)

// patternOf puts [] for each number of an entry.
func patternOf(key string) string { return number.ReplaceAllString(key, "[]") }

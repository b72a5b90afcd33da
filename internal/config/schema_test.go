package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"facetrack/internal/testutil"
)

var update = flag.Bool("update", false, "write docs/facetrack.schema.json")

// schema is that of a type: keys, types and defaults are the structures', ranges and words those that Validate checks, descriptions the
// comments of the example file, which has one for every key.
func schema(t *testing.T, of reflect.Type, standard reflect.Value, pattern string, comments map[string]string) map[string]any {
	t.Helper()
	s := map[string]any{}
	if c := comments[pattern]; c != "" {
		s["description"] = c
	}
	switch of.Kind() {
	case reflect.Struct:
		properties := map[string]any{}
		for i := range of.NumField() {
			name := keyOf(of.Field(i))
			if name == "" {
				continue
			}
			key := strings.TrimPrefix(pattern+"."+name, ".")
			var value reflect.Value
			if standard.IsValid() {
				value = standard.Field(i)
			}
			properties[name] = schema(t, of.Field(i).Type, value, key, comments)
		}
		s["type"], s["properties"], s["additionalProperties"] = "object", properties, false
		return s
	case reflect.Slice:
		s["type"], s["items"] = "array", schema(t, of.Elem(), reflect.Value{}, pattern+"[]", comments)
	case reflect.String:
		s["type"] = "string"
		if words[pattern] != nil {
			s["enum"] = words[pattern]
		}
	case reflect.Bool:
		s["type"] = "boolean"
	case reflect.Int:
		s["type"] = "integer"
	case reflect.Float64:
		s["type"] = "number"
	default:
		t.Fatalf("%s: no schema for %s", pattern, of)
	}
	if r, ok := ranges[pattern]; ok {
		s["minimum"], s["maximum"] = r.low, r.high
	}
	if pattern == "data_dir" { // the user's own
		return s
	}
	if standard.IsValid() {
		if of.Kind() == reflect.Slice && standard.Len() == 0 {
			standard = reflect.MakeSlice(of, 0, 0)
		}
		s["default"] = standard.Interface()
	}
	return s
}

var (
	keyLine      = regexp.MustCompile(`^(#? *)(- )?([a-z_]+):(?:[^#]|#[^ ])*?(?: # (.*))?$`)
	continuation = regexp.MustCompile(`^#? {4,}# (.*)$`)
)

// exampleComments are the comments of the example file by key, those of entries of lists with [].
func exampleComments(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testutil.RepoRoot(), "facetrack.example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	var sections []string // by indentation, 2 a level
	last, list, above := "", "", ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if m := continuation.FindStringSubmatch(line); m != nil && last != "" {
			all[last] += " " + m[1]
			continue
		}
		m := keyLine.FindStringSubmatch(line)
		if m == nil {
			above = strings.TrimPrefix(line, "# ")
			continue
		}
		if m[4] == "" {
			m[4] = above
		}
		above = ""
		key := m[3]
		switch commented := strings.HasPrefix(m[1], "#"); {
		case commented && len(m[1])+len(m[2]) >= 3:
			key = list + "[]." + key
		default:
			depth := (len(strings.TrimPrefix(m[1], "#"))) / 2
			if commented {
				depth = 0
			}
			sections = append(sections[:min(depth, len(sections))], key)
			key = strings.Join(sections, ".")
			list = key
		}
		all[key], last = m[4], key
	}
	return all
}

func generated(t *testing.T) []byte {
	t.Helper()
	s := schema(t, reflect.TypeFor[Config](), reflect.ValueOf(Default()), "", exampleComments(t))
	s["$schema"], s["title"] = "https://json-schema.org/draft/2020-12/schema", "facetrack configuration"
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// go test ./internal/config -run Schema -update writes it anew.
func TestSchemaIsCurrent(t *testing.T) {
	path := filepath.Join(testutil.RepoRoot(), "docs", "facetrack.schema.json")
	want := generated(t)
	if *update {
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/facetrack.schema.json is not what the structures and the example file say (%v): run go test ./internal/config -run Schema -update", err)
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(generated(t)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("facetrack.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("facetrack.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// instance is a YAML text as a validator wants it.
func instance(t *testing.T, text []byte) any {
	t.Helper()
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestExampleFileFitsTheSchema(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testutil.RepoRoot(), "facetrack.example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, yaml := range map[string][]byte{"as it is": text, "with its examples": uncommented(text)} {
		if err := compiled(t).Validate(instance(t, yaml)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// uncommented makes the example's cameras, participants and hosts real.
func uncommented(text []byte) []byte {
	text = regexp.MustCompile(`(?m)^(cameras|participants|hosts): \[\]`).ReplaceAll(text, []byte("$1:"))
	return regexp.MustCompile(`(?m)^#(  .*)$`).ReplaceAll(text, []byte("$1"))
}

// The schema refuses what the program refuses.
func TestSchemaRefuses(t *testing.T) {
	s := compiled(t)
	for _, text := range []string{
		"evrey: 3\n", "detect: {evrey: 3}\n", "detect: {every: 0}\n", "detect: {every: 2.5}\n", "infer: {mode: fast}\n", "ring: {transports: [usb]}\n",
		"cameras: [{source: x, pace: slow}]\n", "tracker: {smoothing: {pose: {beta: -1}}}\n", "rig: 5\n",
	} {
		if err := s.Validate(instance(t, []byte(text))); err == nil {
			t.Errorf("%q fits the schema", text)
		}
		if _, err := Parse("f.yaml", []byte(text)); err == nil && text != "rig: 5\n" {
			t.Errorf("%q is read", text)
		}
	}
}

func TestEveryKeyIsDescribedAndEveryRangeIsOfAKey(t *testing.T) {
	comments := exampleComments(t)
	known := map[string]bool{}
	for _, key := range paths() {
		known[key] = true
		section, _, _ := strings.Cut(key, ".")
		if strings.HasPrefix(key, "tracker.smoothing.") {
			section = "tracker.smoothing"
		}
		if comments[key] == "" && comments[section] == "" {
			t.Errorf("facetrack.example.yaml has no comment for %s", key)
		}
	}
	for key := range ranges {
		if !known[key] {
			t.Errorf("a range is of %s, which is no key", key)
		}
	}
	for key := range words {
		if !known[strings.TrimSuffix(key, "[]")] && !known[key] {
			t.Errorf("words are of %s, which is no key", key)
		}
	}
}

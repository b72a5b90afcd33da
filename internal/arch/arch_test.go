package arch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"facetrack/internal/testutil"
)

const module = "facetrack/"

// layers lists the packages from the top; a package imports only packages below its own line.
// A prefix ends with a slash.
var layers = [][]string{
	{"cmd/", "test/", "scripts/"},
	{"internal/app/"},
	{"internal/doctor/", "internal/ipcbench/", "internal/inferbench/", "internal/lslbench/", "internal/modeleval/", "internal/top/", "internal/replay/"},
	{"internal/monitor/", "internal/auth/", "internal/store/"},
	{"internal/stage/"},
	{"internal/gpuvision/", "internal/streams/", "internal/hosts/"},
	{"internal/recorder/", "internal/ledger/", "internal/telemetry/", "internal/models/", "internal/source/", "internal/config/", "internal/truth/"},
	{"internal/kernels/image/", "internal/kernels/faces/"},
	{"xdf/"},
	{"ipc/", "vision/", "track/", "lsl/"},
	{"gpuring/", "infer/"},
	{"internal/kernels/"},
	{"internal/cuda/", "internal/nvml/"},
	{"internal/clock/", "internal/clocksync/", "internal/latency/", "internal/version/", "internal/fault/", "internal/awake/", "internal/half/", "internal/spelling/", "topology/", "internal/demo/", "docs/"},
}

// unsafeAllowed are the packages that may use unsafe or cgo.
var unsafeAllowed = []string{"gpuring/internal/shm/", "infer/xnnpack/", "internal/cuda/", "internal/nvml/"}

// forTests are packages that only tests import.
var forTests = []string{
	"internal/testutil/", "internal/testmodels/", "internal/modelbuild/", "internal/arch/", "internal/stage/stagetest/", "gpuring/ringtest/",
	"internal/kernels/kerneltest/", "internal/cuda/cudatest/", "xdf/xdftest/", "test/chaos/",
}

func layer(pkg string) int {
	return slices.IndexFunc(layers, func(names []string) bool { return within(pkg, names) })
}

func within(pkg string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(pkg+"/", p) })
}

type source struct {
	pkg, file string
	imports   []string
}

// sources are all Go files that are not tests.
func sources(t *testing.T) []source {
	t.Helper()
	root := testutil.RepoRoot()
	var out []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") && path != root {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		s := source{pkg: filepath.ToSlash(filepath.Dir(rel)), file: rel}
		for _, i := range parsed.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, name)
		}
		out = append(out, s)
		return nil
	})
	if err != nil || len(out) < 50 {
		t.Fatalf("found %d files: %v", len(out), err)
	}
	return out
}

func TestLayers(t *testing.T) {
	for _, s := range sources(t) {
		if within(s.pkg, forTests) {
			continue
		}
		own := layer(s.pkg)
		if own < 0 {
			t.Errorf("%s: package %s has no layer: add it to ARCHITECTURE.md and to this test", s.file, s.pkg)
			continue
		}
		for _, name := range s.imports {
			dep, ours := strings.CutPrefix(name, module)
			if !ours || sameFamily(s.pkg, dep) {
				continue
			}
			if within(dep, forTests) {
				t.Errorf("%s imports %s, which is for tests", s.file, dep)
			} else if layer(dep) <= own {
				t.Errorf("%s (layer %d) imports %s (layer %d)", s.file, own, dep, layer(dep))
			}
		}
	}
}

// sameFamily: a package and those in its own folder. Stages are no family: none imports another.
func sameFamily(a, b string) bool {
	if strings.HasPrefix(a, "internal/stage/") && strings.HasPrefix(b, "internal/stage/") {
		return slices.Contains([]string{"internal/stage/queue", "internal/stage/links", "internal/stage/networks", "internal/stage/workers"}, b)
	}
	return root(a) == root(b)
}

func root(pkg string) string {
	parts := strings.Split(pkg, "/")
	if parts[0] == "internal" && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

func TestUnsafeAndCgoStayWhereTheyAre(t *testing.T) {
	for _, s := range sources(t) {
		for _, name := range s.imports {
			if (name == "unsafe" || name == "C") && !within(s.pkg, unsafeAllowed) {
				t.Errorf("%s imports %q", s.file, name)
			}
		}
	}
}

// ARCHITECTURE.md has a line for every package.
func TestEveryPackageIsInTheTable(t *testing.T) {
	text := readArchitecture(t)
	for _, s := range sources(t) {
		if !strings.Contains(text, "`"+s.pkg+"`") && !strings.Contains(s.pkg, "/internal/") {
			t.Errorf("ARCHITECTURE.md does not mention `%s`", s.pkg)
		}
	}
}

func readArchitecture(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testutil.RepoRoot(), "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

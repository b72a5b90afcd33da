//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"facetrack/internal/stage"
	"facetrack/internal/testutil"
)

// pageRig is the name of the rig in docs/nats.md.
const pageRig = "lab"

// natsProgram is the real one.
func natsProgram(t *testing.T) string {
	t.Helper()
	for _, path := range []string{os.Getenv("NATS_CLI"), filepath.Join(testutil.RepoRoot(), "bin", "nats")} {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Skip("skipped: the nats program is not here: make bin/nats, or set NATS_CLI")
	return ""
}

// The commands of docs/nats.md show what the page says they do. With FACETRACK_WRITE_PAGE the page is written instead.
func TestNATSPage(t *testing.T) {
	nats := natsProgram(t)
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("skipped: jq is not here, which the page uses")
	}
	r := prepare(t)
	r.showPage()
	path := filepath.Join(testutil.RepoRoot(), "docs", "nats.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	written, blocks := "", 0
	for rest := string(text); ; {
		before, b, after, found := nextBlock(rest)
		if !found {
			written += rest
			break
		}
		out := r.pageCommand(nats, b.command)
		if os.Getenv("FACETRACK_WRITE_PAGE") == "" {
			b.compare(t, out)
		}
		written, rest, blocks = written+before+b.with(out), after, blocks+1
	}
	if blocks < 10 {
		t.Errorf("%d commands on the page", blocks)
	}
	if os.Getenv("FACETRACK_WRITE_PAGE") != "" {
		if err := os.WriteFile(path, []byte(written), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// showPage starts the rig that the page is about: two cameras, on the CPU, after landmarks was held up.
func (r *rig) showPage() {
	r.t.Helper()
	empty := r.t.TempDir() // no public models: the same networks on every machine
	r.env = []string{"XDG_CACHE_HOME=" + empty, "FACETRACK_ASSETS=" + empty}
	r.url = fmt.Sprintf("nats://127.0.0.1:%d", freePort(r.t))
	config := r.write("page.yaml", fmt.Sprintf("ring: {dir: %q}\nlsl: {loopback_only: true}\n", r.t.TempDir()))
	name := r.name
	r.name = pageRig
	r.t.Cleanup(func() { r.name = name })
	cmd := exec.Command(program, "up", "--config", config, "--rig", pageRig, "--listen", strings.TrimPrefix(r.url, "nats://"), //nolint:gosec // the program under test
		"--data-dir", r.dir, "--source", "demo", "--source", "demo", "--loop", "--gpu", "off")
	cmd.Dir = r.dir // where no public models lie beside it
	r.start(cmd)
	r.eventually("frames flow", func() bool { return r.status()[stage.LSLOut].Cameras["cam1"].Frames > 30 })
	held := r.status()[stage.Landmarks].PID
	r.signal(held, syscall.SIGSTOP)
	frames := r.status()[stage.Detect].Cameras["cam1"].Frames
	r.eventually("frames wait", func() bool { return r.status()[stage.Detect].Cameras["cam1"].Frames > frames+40 })
	r.signal(held, syscall.SIGCONT)
	r.eventually("frames flow again", func() bool {
		s := r.status()[stage.Landmarks]
		return s.Cameras["cam0"].Dropped["queue-full"] > 0 && s.Cameras["cam1"].Dropped["queue-full"] > 0
	})
	frames = r.status()[stage.Tracker].Cameras["cam1"].Frames
	r.eventually("frames come through", func() bool { return r.status()[stage.Tracker].Cameras["cam1"].Frames > frames+30 })
}

// pageCommand runs a command of the page as its reader does.
func (r *rig) pageCommand(nats, command string) []string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "bash", "-c", command) //nolint:gosec // the page's own commands
	cmd.Env = append(os.Environ(), "NATS_URL="+r.url, "PATH="+filepath.Dir(nats)+":"+os.Getenv("PATH"), "HOME="+r.dir, "XDG_CONFIG_HOME="+r.dir)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatalf("%s: %v", command, err)
	}
	host, _ := os.Hostname()
	text := strings.ReplaceAll(string(out), r.url, "nats://127.0.0.1:4222")
	text = strings.ReplaceAll(text, "host: "+host, "host: tracking")
	return strings.Split(strings.Trim(text, "\n"), "\n")
}

// block is a command of the page and what it prints.
type block struct {
	fence, command string
	most           int // lines that the page has room for; 0 for all
	output         []string
}

var fence = regexp.MustCompile("(?m)^```console(?: lines=([0-9]+))?\n\\$ (.*)\n((?:[^`].*\n|\n)*)```\n")

func nextBlock(text string) (before string, b block, after string, found bool) {
	at := fence.FindStringSubmatchIndex(text)
	if at == nil {
		return text, b, "", false
	}
	b.fence, b.command = strings.SplitN(text[at[0]:], "\n", 2)[0], text[at[4]:at[5]]
	if at[2] >= 0 {
		b.most, _ = strconv.Atoi(text[at[2]:at[3]])
	}
	b.output = strings.Split(strings.TrimSuffix(text[at[6]:at[7]], "\n"), "\n")
	return text[:at[0]], b, text[at[1]:], true
}

// with is the block with what the command prints now.
func (b block) with(out []string) string {
	lines := slices.Clone(out)
	if b.most > 0 && len(lines) > b.most {
		lines = append(lines[:b.most], "…")
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return b.fence + "\n$ " + b.command + "\n" + strings.Join(lines, "\n") + "\n```\n"
}

// compare checks that every line of the page is still printed, numbers and layout aside.
func (b block) compare(t *testing.T, out []string) {
	t.Helper()
	printed := map[string]bool{"": true, "…": true}
	for _, line := range out {
		printed[essence(line)] = true
	}
	compared := 0
	for _, line := range b.output {
		if incidental.MatchString(line) {
			continue
		}
		if e := essence(line); !printed[e] {
			t.Errorf("%s\nprints no line as %q any more (scripts/nats-page.sh writes the page anew):\n%s", b.command, line, strings.Join(out, "\n"))
		} else if e != "" && e != "…" {
			compared++
		}
	}
	if compared == 0 {
		t.Errorf("%s: the page shows nothing of it", b.command)
	}
}

// What differs from run to run, and what stands for it.
var (
	idWord      = regexp.MustCompile(`\b[A-Z0-9a-z]{22}\b|\b[A-Z0-9]{56}\b`)
	numberWord  = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)*(e-?[0-9]+)?(ns|µs|ms|m|s|h)?\b`)
	numberWords = regexp.MustCompile(`N+([-:, ]+N+)*`)
	spaces      = regexp.MustCompile(`[\s─]+`)
	sometimes   = regexp.MustCompile(`"overwritten": ?N,?`)
	cell        = regexp.MustCompile(`│ N │`)                                             // of a version, told in the first row alone
	incidental  = regexp.MustCompile(`^\["[a-z]+","cam[01]",\{"overwritten":[0-9]+\}\]$`) // on a busy machine
	ownWord     = regexp.MustCompile(`\b(commit|host): \S+`)
)

// essence is a line without what differs from run to run.
func essence(line string) string {
	line = ownWord.ReplaceAllString(strings.TrimSpace(line), "$1: …")
	line = idWord.ReplaceAllString(line, "ID")
	line = numberWord.ReplaceAllString(line, "N")
	line = numberWords.ReplaceAllString(line, "N")
	line = spaces.ReplaceAllString(line, " ")
	line = cell.ReplaceAllString(line, "│ │")
	return strings.TrimSpace(sometimes.ReplaceAllString(line, ""))
}

package auth

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var today = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

func mustInit(t *testing.T, now time.Time, hosts ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "auth")
	if err := Init(Options{Dir: dir, Hosts: hosts, Rigs: []string{"lab"}, Now: now}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}

func TestNobodyElseReadsWhatInitMakes(t *testing.T) {
	dir := mustInit(t, today)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder: %v, %v", info.Mode(), err)
	}
	files := content(t, dir)
	if len(files) != len(Roles)+6 {
		t.Errorf("%d files", len(files))
	}
	for name := range files {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	for _, open := range []string{bookFile, confFile} {
		for _, r := range Roles {
			if strings.Contains(files[open], strings.TrimSpace(files[seedFile(r)])) {
				t.Errorf("%s holds the seed of %s", open, r)
			}
		}
	}
}

func TestInitLeavesASetAlone(t *testing.T) {
	dir := mustInit(t, today)
	before := content(t, dir)
	o := Options{Dir: dir, Rigs: []string{"lab"}, Now: today}
	if err := Init(o); !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), "--force") {
		t.Errorf("%v", err)
	}
	for name, text := range content(t, dir) {
		if before[name] != text {
			t.Errorf("%s was changed", name)
		}
	}
	if err := os.Remove(filepath.Join(dir, seedFile(Up))); err != nil {
		t.Fatal(err)
	}
	if err := Init(o); !errors.Is(err, ErrExists) {
		t.Errorf("with a part missing: %v", err)
	}
	o.Force = true
	if err := Init(o); err != nil {
		t.Fatal(err)
	}
	for name, text := range content(t, dir) {
		if before[name] == text {
			t.Errorf("%s is still the old one", name)
		}
	}
}

func TestInitRefuses(t *testing.T) {
	open := t.TempDir()
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]Options{
		"chmod 700":     {Dir: open},
		`--host="a:1"`:  {Dir: t.TempDir(), Hosts: []string{"a:1"}},
		`--host="a b"`:  {Dir: t.TempDir(), Hosts: []string{"good", "a b"}},
		`rig "a.b": no`: {Dir: t.TempDir(), Rigs: []string{"a.b"}},
	} {
		if err := Init(o); !errors.Is(err, ErrCredentials) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestCertificates(t *testing.T) {
	dir := mustInit(t, today, "lab-1.example", "192.0.2.7")
	server, err := readCertificate(filepath.Join(dir, serverFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"lab-1.example", "192.0.2.7", "localhost", "127.0.0.1", "::1"} {
		if err := server.VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
	if err := server.VerifyHostname("lab-2.example"); err == nil {
		t.Error("it is for any host")
	}
	if key, ok := server.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		t.Errorf("key %T", server.PublicKey)
	}
	o, err := Show(dir, "lab")
	if err != nil {
		t.Fatal(err)
	}
	if got := o.ServerEnd.Sub(today); got != serverLife {
		t.Errorf("the server's lasts %s", got)
	}
	if got := o.CAEnds.Sub(today); got != caLife {
		t.Errorf("the CA's lasts %s", got)
	}
	if server.IsCA {
		t.Error("the server's certificate signs others")
	}
}

func TestRotateChangesOneKey(t *testing.T) {
	dir := mustInit(t, today)
	before := content(t, dir)
	if err := Rotate(dir, Tracker, today); err != nil {
		t.Fatal(err)
	}
	for name, text := range content(t, dir) {
		changes := name == seedFile(Tracker) || name == bookFile || name == confFile
		if changed := before[name] != text; changed != changes {
			t.Errorf("%s: changed %v", name, changed)
		}
	}
	o, err := Show(dir, "lab")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range o.Roles {
		key, err := openSeed(filepath.Join(dir, seedFile(r.Role)))
		if err != nil {
			t.Fatal(err)
		}
		if public, err := key.PublicKey(); err != nil || public != r.Public {
			t.Errorf("%s: the server knows %s, the seed is of %s (%v)", r.Role, r.Public, public, err)
		}
	}
}

func TestRotateServerKeepsTheCA(t *testing.T) {
	dir := mustInit(t, today, "lab-1.example")
	before := content(t, dir)
	later := today.Add(serverLife + time.Hour)
	if err := RotateServer(dir, nil, later); err != nil {
		t.Fatal(err)
	}
	after := content(t, dir)
	if before[caFile] != after[caFile] || before[serverFile] == after[serverFile] || before[serverKeyFile] == after[serverKeyFile] {
		t.Error("the CA was changed, or the server's certificate was not")
	}
	g, err := OpenGuard(dir, "lab", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Check("lab-1.example", later); err != nil {
		t.Error(err)
	}
	if err := RotateServer(dir, []string{"lab-2.example"}, later); err != nil {
		t.Fatal(err)
	}
	if g, err = OpenGuard(dir, "lab", "", ""); err != nil {
		t.Fatal(err)
	}
	if err := g.Check("lab-1.example", later); err == nil || !strings.Contains(err.Error(), "--host lab-1.example") {
		t.Errorf("another host: %v", err)
	}
	if err := RotateServer(dir, nil, today.Add(caLife+time.Hour)); err == nil || !strings.Contains(err.Error(), "the CA ended on 2040-04-28") {
		t.Errorf("after the CA's end: %v", err)
	}
}

func TestGuardLooksAtTheCertificate(t *testing.T) {
	dir := mustInit(t, today)
	g, err := OpenGuard(dir, "lab", "", "")
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{"127.0.0.1": "", "": "", "0.0.0.0": "", "::": "", "192.0.2.1": "--host 192.0.2.1"} {
		if err := g.Check(host, today); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", host, err)
		}
	}
	if err := g.Check("127.0.0.1", today.Add(serverLife+time.Second)); err == nil || !strings.Contains(err.Error(), "ended on 2032-04-30") {
		t.Errorf("after its end: %v", err)
	}
	if _, soon := g.Soon(today); soon {
		t.Error("ends soon, on its first day")
	}
	if left, soon := g.Soon(today.Add(serverLife - time.Hour)); !soon || left != time.Hour {
		t.Errorf("an hour before its end: %s, %v", left, soon)
	}
}

// A seed that others may read is not used; a group's reading is the owner's choice.
func TestFilesOfOthers(t *testing.T) {
	dir := mustInit(t, today)
	seed := filepath.Join(dir, seedFile(Detect))
	for mode, want := range map[os.FileMode]string{0o600: "", 0o400: "", 0o440: "", 0o644: "chmod 600 " + seed, 0o604: "chmod 600", 0o660: "chmod 600", 0o602: "chmod 600"} {
		if err := os.Chmod(seed, mode); err != nil {
			t.Fatal(err)
		}
		_, err := Access{Credentials: dir}.Options(Detect)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
	key := filepath.Join(dir, serverKeyFile)
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenGuard(dir, "lab", "", ""); err == nil || !strings.Contains(err.Error(), "chmod 600 "+key) {
		t.Errorf("key of the server: %v", err)
	}
	book := filepath.Join(dir, bookFile)
	if err := os.Chmod(book, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Show(dir, "lab"); err == nil || !strings.Contains(err.Error(), "others can change it") {
		t.Errorf("book: %v", err)
	}
}

// A folder in which others may write is not used: they could put other keys there.
func TestFolderOfOthers(t *testing.T) {
	dir := mustInit(t, today)
	for mode, good := range map[os.FileMode]bool{0o700: true, 0o755: true, 0o550: true, 0o770: false, 0o777: false, os.ModeSticky | 0o777: false} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		_, client := Access{Credentials: dir}.Options(Detect)
		_, server := OpenGuard(dir, "lab", "", "")
		for _, err := range []error{client, server} {
			if (err == nil) != good || err != nil && !strings.Contains(err.Error(), "chmod 700 "+dir) {
				t.Errorf("mode %v: %v", mode, err)
			}
		}
	}
}

func TestAccessNamesWhatIsMissing(t *testing.T) {
	dir := mustInit(t, today)
	part := t.TempDir() // of a machine that only reads
	for _, name := range []string{seedFile(Reader), caFile} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(part, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for want, try := range map[string]func() error{
		"has no key of detect (detect.nk)": func() error { _, err := Access{Credentials: part}.Options(Detect); return err },
		"facetrack auth init":              func() error { _, err := Access{Credentials: part + "/none"}.Options(Detect); return err },
		"no seed of an nkey":               func() error { _, err := Access{Credentials: part + "/" + caFile}.Options(Detect); return err },
		"holds no certificate": func() error {
			_, err := Access{Credentials: part, CA: part + "/" + seedFile(Reader)}.Options(Reader)
			return err
		},
		"auth init --dir": func() error { _, err := OpenGuard(part, "lab", "", ""); return err },
	} {
		if err := try(); !errors.Is(err, ErrCredentials) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if opts, err := (Access{Credentials: part}).Options(Reader); err != nil || len(opts) != 3 {
		t.Errorf("reader: %d options, %v", len(opts), err)
	}
	if opts, err := (Access{}).Options(Reader); err != nil || len(opts) != 0 {
		t.Errorf("without credentials: %d options, %v", len(opts), err)
	}
}

func TestBookWithoutAKey(t *testing.T) {
	dir := mustInit(t, today)
	path := filepath.Join(dir, bookFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(data, []byte(`"lsl-out"`), []byte(`"other"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenGuard(dir, "lab", "", ""); err == nil || !strings.Contains(err.Error(), "no key of lsl-out") {
		t.Errorf("%v", err)
	}
}

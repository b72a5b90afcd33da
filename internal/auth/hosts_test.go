package auth

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"facetrack/ipc"
)

func mustAddHost(t *testing.T, dir, rig string) (folder string) {
	t.Helper()
	folder, err := AddHost(dir, rig, today)
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// A host gets its own key and whom to trust, and nothing of the hub's.
func TestFolderForAHost(t *testing.T) {
	dir := mustInit(t, today)
	ca := content(t, dir)[caFile]
	folder := mustAddHost(t, dir, "left")
	files := content(t, folder)
	if len(files) != 2 || files[caFile] != ca || strings.Contains(files[caFile], "PRIVATE") {
		t.Errorf("files %v", files)
	}
	if info, err := os.Stat(filepath.Join(folder, seedFile(Joining))); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	join, err := OpenJoin(folder)
	if err != nil || join.Seed != strings.TrimSpace(files[seedFile(Joining)]) || join.TLS.RootCAs == nil {
		t.Errorf("%+v, %v", join, err)
	}
	before := join.Seed
	if join, err = OpenJoin(mustAddHost(t, dir, "left")); err != nil || join.Seed == before {
		t.Errorf("the key of a host that is added again is the old one, %v", err)
	}
}

func TestHostFolderErrors(t *testing.T) {
	dir := mustInit(t, today)
	none := t.TempDir()
	if err := os.Chmod(none, 0o700); err != nil {
		t.Fatal(err)
	}
	open := mustAddHost(t, dir, "open")
	if err := os.Chmod(filepath.Join(open, seedFile(Joining)), 0o644); err != nil {
		t.Fatal(err)
	}
	alone := mustAddHost(t, dir, "alone")
	if err := os.Remove(filepath.Join(alone, caFile)); err != nil {
		t.Fatal(err)
	}
	for want, do := range map[string]func() error{
		`rig "a.b": not a name`:        func() error { _, err := AddHost(dir, "a.b", today); return err },
		"rig lab is this server's own": func() error { _, err := AddHost(dir, "lab", today); return err },
		"facetrack auth init --dir":    func() error { _, err := AddHost(none, "left", today); return err },
		"has no key of a host":         func() error { _, err := OpenJoin(none); return err },
		"has mode 0644":                func() error { _, err := OpenJoin(open); return err },
		"has no ca.pem: take it from":  func() error { _, err := OpenJoin(alone); return err },
	} {
		if err := do(); !errors.Is(err, ErrCredentials) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// What a host may say and hear at the hub, in words: the table in hosts.go is made otherwise.
func TestPermissionsOfAHost(t *testing.T) {
	p := PermissionsOfHost("left")
	for kind, says := range map[ipc.Kind]bool{
		ipc.KindTracks: true, ipc.KindEnd: true, ipc.KindEvents: true, ipc.KindDrops: true,
		ipc.KindFrame: false, ipc.KindDetections: false, ipc.KindLandmarks: false, ipc.KindAck: false,
		ipc.KindRing: false, ipc.KindPixels: false, ipc.KindRelease: false, ipc.KindInvite: false,
	} {
		if got := slices.Contains(p.Publish, ipc.AllCameras("left", kind)); got != says {
			t.Errorf("says %s: %v", kind, got)
		}
		if slices.Contains(p.Subscribe, ipc.AllCameras("left", kind)) {
			t.Errorf("hears %s", kind)
		}
	}
	for _, s := range append(slices.Clone(p.Publish), p.Subscribe...) {
		if strings.HasPrefix(s, "face.") && !strings.HasPrefix(s, "face.left.") || s == ">" || strings.HasPrefix(s, "$KV") || strings.HasPrefix(s, "_INBOX.up") {
			t.Errorf("may use %s", s)
		}
	}
	// What is withheld and what the hub needs must not meet, or the server holds back both.
	for _, s := range Withheld("left").Subscribe {
		if slices.Contains(p.Publish, s) || slices.Contains(p.Subscribe, s) {
			t.Errorf("%s is needed and withheld", s)
		}
	}
}

// The file for a server of one's own has the hosts as the embedded server has.
func TestConfigurationFileHasTheHosts(t *testing.T) {
	dir := mustInit(t, time.Now())
	for _, rig := range []string{"left", "right"} {
		mustAddHost(t, dir, rig)
	}
	o, err := server.ProcessConfigFile(filepath.Join(dir, confFile))
	if err != nil {
		t.Fatal(err)
	}
	g, err := OpenGuard(dir, "lab", "", "")
	if err != nil {
		t.Fatal(err)
	}
	var embedded server.Options
	g.Apply(&embedded)
	if err := g.ApplyHosts(&embedded, []string{"left", "right"}); err != nil {
		t.Fatal(err)
	}
	if got, want := byKey(o.Nkeys), byKey(embedded.Nkeys); !reflect.DeepEqual(got, want) || len(want) != len(Roles)+2 {
		t.Errorf("the file says %+v, the server %+v", got, want)
	}
	if o.JetStreamDomain != "lab" {
		t.Errorf("the hub's domain is %q", o.JetStreamDomain)
	}
	if o.LeafNode.Port != 7422 || o.LeafNode.TLSConfig == nil || !o.LeafNode.IsolateLeafnodeInterest {
		t.Errorf("leaf nodes: port %d, isolated %v", o.LeafNode.Port, o.LeafNode.IsolateLeafnodeInterest)
	}
	for public, key := range g.book.Joining {
		if g.HostOf(key.Public) != public {
			t.Errorf("%s is of %q", key.Public, g.HostOf(key.Public))
		}
	}
}

// On a hub the tracker and readers hear other hosts, and nobody gets nearer to their pixels, buckets or configuration.
func TestWhatRolesHearOfOtherHosts(t *testing.T) {
	for _, role := range Roles {
		own, p := PermissionsOf(role, "hub"), PermissionsWith(role, "hub", []string{"left"})
		hears := slices.Contains(p.Subscribe, ipc.AllCameras("left", ipc.KindTracks))
		if want := role == Tracker || role == Reader; hears != want {
			t.Errorf("%s hears tracks: %v", role, hears)
		}
		if asks := slices.Contains(p.Publish, ipc.ClockSubject("left")); asks != (role == Tracker) {
			t.Errorf("%s asks the clock: %v", role, asks)
		}
		for _, s := range append(p.Publish[len(own.Publish):], p.Subscribe[len(own.Subscribe):]...) {
			for _, kind := range never {
				if s == ipc.AllCameras("left", kind) {
					t.Errorf("%s may use %s", role, s)
				}
			}
			if strings.Contains(s, ipc.BucketName("left")+".") || strings.Contains(s, ipc.SettingsBucket("left")) {
				t.Errorf("%s may use %s", role, s)
			}
		}
		if len(p.Publish) < len(own.Publish) || len(p.Subscribe) < len(own.Subscribe) {
			t.Errorf("%s has less than without hosts", role)
		}
	}
}

// The key of a host is for its server alone: nobody connects with it as a client.
func TestHostsKeyIsForServers(t *testing.T) {
	dir := mustInit(t, time.Now())
	folder := mustAddHost(t, dir, "left")
	g, err := OpenGuard(dir, "lab", "", "")
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, dir, func(o *server.Options) {
		if err := g.ApplyHosts(o, []string{"left"}); err != nil {
			t.Fatal(err)
		}
	})
	key, err := nats.NkeyOptionFromSeed(filepath.Join(folder, seedFile(Joining)))
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(s.ClientURL(), key, nats.RootCAs(filepath.Join(folder, caFile)))
	if err == nil {
		nc.Close()
	}
	if !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("as a client: %v", err)
	}
	if as(t, s, dir, Reader).Flush() != nil {
		t.Error("a role does not get in")
	}
}

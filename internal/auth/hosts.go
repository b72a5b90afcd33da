package auth

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"

	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

// hostsFolder holds a folder for each host that joins.
const hostsFolder = "hosts"

// What goes from a host to the hub, of each camera.
var overHosts = []ipc.Kind{ipc.KindTracks, ipc.KindEnd, ipc.KindEvents, ipc.KindDrops}

// never goes from one host to another, of any camera: what shows where pixels are, pixels, and what stages tell each other.
var never = []ipc.Kind{
	ipc.KindRing, ipc.KindPixels, ipc.KindRelease, ipc.KindInvite, ipc.KindFrame, ipc.KindDetections, ipc.KindLandmarks, ipc.KindAck,
}

// PermissionsOfHost are what the server of another host may say at the hub, and hear there: as that of the rig, and nothing else.
func PermissionsOfHost(rig string) Permissions {
	var p Permissions
	p.publish(onCameras(rig, overHosts)...)
	p.publish(ipc.SynchronySubject(rig, ipc.Any, ipc.Any), Reader.inbox(), Tracker.inbox(), ipc.KeptPrefix(rig)+".>", "$JSC.R.>")
	p.subscribe(telemetry.StatusSubject(rig, ipc.Any), ipc.ClockSubject(rig), "$JS."+rig+".API.CONSUMER.>", "$JS.FC."+ipc.ResultsStream(rig)+".>")
	return p
}

// Withheld is what a host's own server keeps back, whatever the hub allows or does: Publish never leaves it, Subscribe never comes in. Nothing of the second
// may be among what goes to the hub: the server holds that back as well once a local subscription spans both.
func Withheld(rig string) Permissions {
	api := "$JS." + rig + ".API."
	var p Permissions
	p.subscribe(onCameras(rig, never)...)
	p.subscribe("$KV.>", "$JS.API.>", api+"STREAM.>", api+"DIRECT.>", api+"META.>", api+"SERVER.>", api+"ACCOUNT.>", api+"$KV.>", api+"$OBJ.>",
		api+"CONSUMER.DURABLE.>", api+"CONSUMER.MSG.>", api+"CONSUMER.PAUSE.>")
	for _, bucket := range []string{ipc.BucketName(rig), ipc.SettingsBucket(rig), ipc.SessionsBucket(rig)} {
		p.subscribe(api+"CONSUMER.CREATE.KV_"+bucket, api+"CONSUMER.CREATE.KV_"+bucket+".>", api+"CONSUMER.DELETE.KV_"+bucket+".>")
	}
	p.publish(onCameras(rig, never)...)
	p.publish("$KV.>", "$JS.API.>", "$JS.*.API.>", Capture.inbox(), Detect.inbox(), Landmarks.inbox(), ipc.AppliedSubject(rig, ipc.Any))
	return p
}

// hearHost lets a role on the hub use what comes from another host.
func (p *Permissions) hearHost(role Role, rig string) {
	switch role {
	case Tracker:
		p.subscribe(onCameras(rig, []ipc.Kind{ipc.KindTracks, ipc.KindEnd})...)
		p.publish(ipc.ClockSubject(rig))
	case Up:
		stream := ipc.ResultsStream(rig)
		p.publish("$JS.API.STREAM.INFO."+stream, "$JS.API.STREAM.CREATE."+stream, "$JS.API.STREAM.UPDATE."+stream)
	case Reader:
		p.readResults(rig)
		p.subscribe(onCameras(rig, overHosts)...)
		p.subscribe(ipc.SynchronySubject(rig, ipc.Any, ipc.Any))
		p.publish(telemetry.StatusSubject(rig, ipc.Any))
	}
}

// PermissionsWith are PermissionsOf on a hub, where the rigs of other hosts are heard.
func PermissionsWith(role Role, rig string, hosts []string) Permissions {
	p := PermissionsOf(role, rig)
	for _, host := range hosts {
		p.hearHost(role, host)
	}
	return p
}

// AddHost makes a key for the server of another host, and the folder that is to be taken there: the key and the CA. An older key of the same rig is no good
// any more when the server starts again.
func AddHost(dir, rig string, now time.Time) (folder string, err error) {
	if err := ipc.CheckToken("rig", rig); err != nil {
		return "", fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	b, err := readBook(dir)
	if err != nil {
		return "", err
	}
	if slices.Contains(b.Rigs, rig) {
		return "", fmt.Errorf("%w: rig %s is this server's own: name the rig of the other host", ErrCredentials, rig)
	}
	ca, err := readIn(dir, caFile)
	if err != nil {
		return "", err
	}
	seed, public, err := newKey()
	if err != nil {
		return "", err
	}
	if b.Joining == nil {
		b.Joining = map[string]Key{}
	}
	b.Joining[rig] = Key{Public: public, Made: now.UTC().Truncate(time.Second)}
	files := map[string][]byte{}
	if err := b.files(dir, files); err != nil {
		return "", err
	}
	folder = filepath.Join(dir, hostsFolder, rig)
	if err := makeFolder(folder); err != nil {
		return "", err
	}
	return folder, errors.Join(
		replace(filepath.Join(folder, seedFile(Joining)), seed), replace(filepath.Join(folder, caFile), ca),
		replace(filepath.Join(dir, bookFile), files[bookFile]), replace(filepath.Join(dir, confFile), files[confFile]),
	)
}

// ErrNoHost says that a rig is to join and has no key.
var ErrNoHost = errors.New("the rig has no key to join with")

// ApplyHosts has a server let the servers of these rigs join, each with its key, and the roles hear what comes from them. The options have been through Apply.
func (g *Guard) ApplyHosts(o *server.Options, hosts []string) error {
	for _, rig := range hosts {
		key, ok := g.book.Joining[rig]
		if !ok {
			return fmt.Errorf("%w: %w: %s: facetrack auth host %s --dir %s makes one", ErrCredentials, ErrNoHost, rig, rig, g.dir)
		}
		p := PermissionsOfHost(rig)
		o.Nkeys = append(o.Nkeys, nkeyUser(key.Public, p, jwt.ConnectionTypeLeafnode))
	}
	for _, r := range Roles {
		for _, u := range o.Nkeys {
			if u.Nkey == g.book.Keys[r].Public {
				u.Permissions = PermissionsWith(r, g.rig, hosts).ofServer()
			}
		}
	}
	o.LeafNode.TLSConfig, o.LeafNode.TLSTimeout = &tls.Config{Certificates: []tls.Certificate{g.pair}, MinVersion: tls.VersionTLS13}, o.TLSTimeout
	return nil
}

// asClient are the ways in which processes of a role connect; a server joins with a key of its own.
var asClient = []string{jwt.ConnectionTypeStandard, jwt.ConnectionTypeInProcess}

func nkeyUser(public string, p Permissions, ways ...string) *server.NkeyUser {
	allowed := map[string]struct{}{}
	for _, way := range ways {
		allowed[way] = struct{}{}
	}
	return &server.NkeyUser{Nkey: public, AllowedConnectionTypes: allowed, Permissions: p.ofServer()}
}

func (p Permissions) ofServer() *server.Permissions {
	return &server.Permissions{
		Publish: &server.SubjectPermission{Allow: p.Publish}, Subscribe: &server.SubjectPermission{Allow: p.Subscribe},
	}
}

// HostOf finds the rig of another host with a public key; "" when none has it.
func (g *Guard) HostOf(public string) string {
	for rig, k := range g.book.Joining {
		if k.Public == public {
			return rig
		}
	}
	return ""
}

// Join is what a server needs to join a hub.
type Join struct {
	Seed string
	TLS  *tls.Config
}

// OpenJoin reads the folder that AddHost has made.
func OpenJoin(dir string) (*Join, error) {
	if err := checkFolder(dir); err != nil {
		return nil, err
	}
	seed := filepath.Join(dir, seedFile(Joining))
	if _, err := os.Stat(seed); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s has no key of a host (%s): facetrack auth host RIG makes such a folder on the hub", ErrCredentials, dir, seedFile(Joining))
	}
	pair, err := openSeed(seed)
	if err != nil {
		return nil, err
	}
	text, err := pair.Seed()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrCredentials, seed, err)
	}
	ca, err := Access{Credentials: dir}.authority()
	if err != nil {
		return nil, err
	}
	if ca == nil {
		return nil, fmt.Errorf("%w: %s has no %s: take it from the hub as well", ErrCredentials, dir, caFile)
	}
	return &Join{Seed: string(text), TLS: &tls.Config{RootCAs: ca, MinVersion: tls.VersionTLS13}}, nil
}

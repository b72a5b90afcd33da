package auth

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

const patience = 20 * time.Second

var quiet = slog.New(slog.DiscardHandler)

// serve runs a server with the roles of a folder.
func serve(t *testing.T, dir string, change ...func(*server.Options)) *server.Server {
	t.Helper()
	g, err := OpenGuard(dir, "lab", "", "")
	if err != nil {
		t.Fatal(err)
	}
	o := &server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir()}
	g.Apply(o)
	for _, c := range change {
		c(o)
	}
	return start(t, o)
}

func start(t *testing.T, o *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(patience) {
		t.Fatal("the NATS server does not start")
	}
	return s
}

// client is a connection in a role; refused gets what the server refuses to it.
type client struct {
	*ipc.Conn
	t       *testing.T
	refused chan error
}

func as(t *testing.T, s *server.Server, dir string, role Role) *client {
	t.Helper()
	opts, err := Access{Credentials: dir}.Options(role)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, refused: make(chan error, 64)}
	c.Conn, err = ipc.Connect(s.ClientURL(), string(role), quiet, append(opts, nats.Timeout(patience),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.refused <- err }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// refusedToAll is no subject of anybody.
const refusedToAll = "nobody"

// sees what the server has refused until now: refusals come in order, and that of one more message comes last.
func (c *client) sees() (refused []string) {
	c.t.Helper()
	if err := c.Publish(refusedToAll, nil); err != nil {
		c.t.Fatal(err)
	}
	for {
		select {
		case err := <-c.refused:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				c.t.Errorf("%v", err)
			}
			if strings.Contains(err.Error(), `"`+refusedToAll+`"`) {
				return refused
			}
			refused = append(refused, err.Error())
		case <-time.After(patience):
			c.t.Fatalf("%s is not refused", refusedToAll)
		}
	}
}

func (c *client) mayPublish(subject string) bool {
	c.t.Helper()
	if err := c.Publish(subject, []byte("{}")); err != nil {
		c.t.Fatal(err)
	}
	return c.verdict(subject)
}

func (c *client) maySubscribe(subject string) bool {
	c.t.Helper()
	sub, err := c.SubscribeSync(subject)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	return c.verdict(subject)
}

func (c *client) verdict(subject string) bool {
	c.t.Helper()
	refused := c.sees()
	if len(refused) > 0 && !strings.Contains(refused[0], `"`+subject+`"`) {
		c.t.Errorf("the refusal does not name %s: %s", subject, refused[0])
	}
	return len(refused) == 0
}

// Who may say and hear what of a camera, as words: the table in permissions.go is made otherwise.
var says = map[ipc.Kind][]Role{
	ipc.KindFrame: {Capture}, ipc.KindEnd: {Capture}, ipc.KindInvite: {Capture},
	ipc.KindDetections: {Detect}, ipc.KindLandmarks: {Landmarks}, ipc.KindTracks: {Tracker}, ipc.KindAck: {Tracker},
	ipc.KindDrops: {Capture, Detect, Landmarks, Tracker}, ipc.KindEvents: {Detect, Landmarks},
	ipc.KindRing: {Detect, Landmarks}, ipc.KindPixels: {Detect, Landmarks}, ipc.KindRelease: {Detect, Landmarks},
}

var hears = map[ipc.Kind][]Role{
	ipc.KindFrame: {Detect, Up, Reader}, ipc.KindEnd: {LSLOut, Up, Reader}, ipc.KindInvite: {Detect, Landmarks},
	ipc.KindDetections: {Landmarks, Up, Reader}, ipc.KindLandmarks: {Tracker, Up, Reader},
	ipc.KindTracks: {Detect, Landmarks, LSLOut, Up, Reader}, ipc.KindAck: {Capture},
	ipc.KindDrops: {Capture, Up, Reader}, ipc.KindEvents: {LSLOut, Up, Reader},
	ipc.KindRing: {Capture}, ipc.KindPixels: {Capture}, ipc.KindRelease: {Capture},
}

// Each role tries every subject on a real server.
func TestEveryRoleOnEverySubject(t *testing.T) {
	dir := mustInit(t, time.Now())
	s := serve(t, dir)
	for _, role := range Roles {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			c := as(t, s, dir, role)
			for kind := range says {
				subject := ipc.Subject("lab", "cam0", kind)
				if got, want := c.mayPublish(subject), slices.Contains(says[kind], role); got != want {
					t.Errorf("publish %s: %v, want %v", subject, got, want)
				}
				all := ipc.AllCameras("lab", kind)
				if got, want := c.maySubscribe(all), slices.Contains(hears[kind], role); got != want {
					t.Errorf("subscribe %s: %v, want %v", all, got, want)
				}
			}
			for _, all := range []string{"face.>", ">", "face.*.*.tracks", "_INBOX.>", "$JS.>", "$KV.>", "$SYS.>"} {
				if c.maySubscribe(all) {
					t.Errorf("subscribes to %s", all)
				}
			}
			for _, other := range Roles {
				if other != role && c.maySubscribe(other.inbox()) {
					t.Errorf("reads answers to %s", other)
				}
			}
			if other := ipc.Subject("other", "cam0", ipc.KindTracks); c.maySubscribe(other) || c.mayPublish(other) {
				t.Errorf("uses %s", other)
			}
			synchrony := ipc.SynchronySubject("lab", "a", "b")
			if got, want := c.mayPublish(synchrony), role == Tracker; got != want {
				t.Errorf("publish %s: %v", synchrony, got)
			}
		})
	}
}

// The bucket: each role reads the configuration and what is its own; nobody but up makes streams, with which all could be read.
func TestBucketKeysOfRoles(t *testing.T) {
	dir := mustInit(t, time.Now())
	s := serve(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	owner, err := jetstream.New(as(t, s, dir, Up).Conn.Conn)
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := ipc.OpenBucket(ctx, owner, "lab")
	if err != nil {
		t.Fatal(err)
	}
	settings, err := ipc.OpenSettings(ctx, owner, "lab")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := settings.Put(ctx, []byte("known"), 0); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"ring.cam0", "identities.cam0"} {
		if _, err := bucket.Put(ctx, key, "known"); err != nil {
			t.Fatal(err)
		}
	}
	if err := bucket.ClearRun(ctx); err != nil {
		t.Error(err)
	}
	for _, role := range Roles {
		if role == Up {
			continue
		}
		c := as(t, s, dir, role)
		js, err := jetstream.New(c.Conn.Conn)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ipc.FindBucket(ctx, js, "lab"); err != nil {
			t.Fatal(err)
		}
		settings, err := ipc.FindSettings(ctx, js, "lab")
		if err != nil {
			t.Fatal(err)
		}
		if r, err := settings.Latest(ctx); err != nil || string(r.Text) != "known" {
			t.Errorf("%s: configuration %q, %v", role, r.Text, err)
		}
		if all, err := settings.History(ctx); err != nil || len(all) != 1 {
			t.Errorf("%s: %d revisions, %v", role, len(all), err)
		}
		if refused := c.sees(); len(refused) > 0 {
			t.Errorf("%s: %s", role, refused)
		}
		for subject, want := range map[string]bool{
			"$KV.facetrack-config_lab.config":                                              false,
			"$KV.facetrack_lab.ring.cam0":                                                  role == Capture,
			"$KV.facetrack_lab.identities.cam0":                                            role == Tracker,
			"$JS.API.DIRECT.GET.KV_facetrack_lab.$KV.facetrack_lab.ring.cam0":              role == Capture,
			"$JS.API.DIRECT.GET.KV_facetrack_lab.$KV.facetrack_lab.identities.cam0":        role == Tracker,
			"$JS.API.DIRECT.GET.KV_facetrack_lab":                                          false,
			"$JS.API.STREAM.CREATE.KV_facetrack_lab":                                       false,
			"$JS.API.STREAM.CREATE.mine":                                                   false,
			"$JS.API.STREAM.UPDATE.KV_facetrack_lab":                                       false,
			"$JS.API.STREAM.DELETE.KV_facetrack_lab":                                       false,
			"$JS.API.STREAM.MSG.GET.KV_facetrack_lab":                                      false,
			"$JS.API.CONSUMER.CREATE.KV_facetrack_lab.x.$KV.facetrack_lab.identities.cam0": false,
			"$JS.API.CONSUMER.DURABLE.CREATE.KV_facetrack_lab.x":                           false,
			telemetry.StatusSubject("lab", "capture"):                                      role == Reader,
			"$SRV.STATS.facetrack-capture":                                                 role == Reader,
		} {
			if got := c.mayPublish(subject); got != want {
				t.Errorf("%s: publish %s: %v, want %v", role, subject, got, want)
			}
		}
	}
}

// A stage shows itself as a service and answers those who look on, at their own inboxes and nowhere else.
func TestStatusIsAnswered(t *testing.T) {
	dir := mustInit(t, time.Now())
	s := serve(t, dir)
	stage := as(t, s, dir, LSLOut)
	service, err := telemetry.Serve(stage.Conn.Conn, "lab", telemetry.New(string(LSLOut)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = service.Stop() }()
	if refused := stage.sees(); len(refused) > 0 {
		t.Fatal(refused)
	}
	for _, role := range []Role{Up, Reader} {
		c := as(t, s, dir, role)
		if m, err := c.Request(telemetry.StatusSubject("lab", string(LSLOut)), nil, patience); err != nil || !strings.Contains(string(m.Data), `"lsl-out"`) {
			t.Errorf("%s: %v", role, err)
		}
	}
	reader := as(t, s, dir, Reader)
	if m, err := reader.Request("$SRV.PING", nil, patience); err != nil || !strings.Contains(string(m.Data), "facetrack-lsl-out") {
		t.Errorf("ping: %v", err)
	}
	// The answer would be a message of tracks, by the word of one who may say nothing.
	if err := reader.PublishRequest(telemetry.StatusSubject("lab", string(LSLOut)), ipc.Subject("lab", "cam0", ipc.KindTracks), nil); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-stage.refused:
		if !strings.Contains(err.Error(), "face.lab.cam0.tracks") {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("the stage answers on face.lab.cam0.tracks")
	}
}

// known is what a server knows of a user.
type known struct {
	server.Permissions
	ways map[string]struct{}
}

func byKey(users []*server.NkeyUser) map[string]known {
	all := map[string]known{}
	for _, u := range users {
		all[u.Nkey] = known{*u.Permissions, u.AllowedConnectionTypes}
	}
	return all
}

// The file for a server of one's own says the same as the embedded server's options, and that server lets the roles in.
func TestConfigurationFileSaysTheSame(t *testing.T) {
	dir := mustInit(t, time.Now())
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
	if got, want := byKey(o.Nkeys), byKey(embedded.Nkeys); !reflect.DeepEqual(got, want) || len(want) != len(Roles) {
		t.Errorf("the file says %+v, the server %+v", got, want)
	}
	if o.TLSConfig == nil || o.TLSConfig.MinVersion != embedded.TLSConfig.MinVersion {
		t.Errorf("the file allows other TLS: %+v", o.TLSConfig)
	}
	o.Host, o.Port, o.NoLog, o.NoSigs, o.StoreDir = "127.0.0.1", -1, true, true, t.TempDir()
	s := start(t, o)
	c := as(t, s, dir, Capture)
	if c.maySubscribe(ipc.AllCameras("lab", ipc.KindTracks)) || !c.mayPublish(ipc.Subject("lab", "cam0", ipc.KindFrame)) {
		t.Error("capture reads tracks, or cannot announce frames")
	}
}

// Each way in which server and client do not trust each other ends with one sentence that names cause and cure.
func TestConnectionErrors(t *testing.T) {
	now := time.Now()
	dir, other := mustInit(t, now), mustInit(t, now)
	s := serve(t, dir)
	old := mustInit(t, now.Add(-serverLife-time.Hour))
	ended := serve(t, old)
	plain := start(t, &server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true})
	elsewhere := serve(t, dir, func(o *server.Options) { o.Host = "127.0.0.2" })
	caOf := func(dir string) string { return filepath.Join(dir, caFile) }
	for _, c := range []struct {
		name   string
		server *server.Server
		access Access
		want   []string
	}{
		{"wrong key", s, Access{Credentials: filepath.Join(other, seedFile(Reader)), CA: caOf(dir)}, []string{"does not know this process's key", "--credentials"}},
		{"no key", s, Access{CA: caOf(dir)}, []string{"does not know this process's key"}},
		{"nothing at all", s, Access{}, []string{"CA that is not known", "--tls-ca"}},
		{"CA unknown", s, Access{Credentials: other}, []string{"CA that is not known", "ca.pem"}},
		{"wrong host", elsewhere, Access{Credentials: dir}, []string{"for other names", "--host"}},
		{"ended", ended, Access{Credentials: old}, []string{"has ended", "auth rotate server"}},
		{"server without TLS", plain, Access{CA: caOf(dir)}, []string{"no TLS", "credentials"}},
		{"server without keys", plain, Access{Credentials: filepath.Join(dir, seedFile(Reader))}, []string{"asks nobody for a key"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts, err := c.access.Options(Reader)
			if err != nil {
				t.Fatal(err)
			}
			nc, err := ipc.Connect(c.server.ClientURL(), "test", quiet, append(opts, nats.Timeout(patience))...)
			if err == nil {
				_ = nc.Close()
				t.Fatal("connected")
			}
			if !errors.Is(err, ipc.ErrAccess) {
				t.Errorf("%v", err)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%v; want %q", err, w)
				}
			}
		})
	}
}

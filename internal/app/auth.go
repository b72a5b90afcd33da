package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"facetrack/internal/auth"
)

// AuthCmd is the group of commands about who may do what on the NATS server.
type AuthCmd struct {
	Init    AuthInitCmd    `cmd:"" help:"Make keys for all roles, a CA and a certificate of the NATS server."`
	Show    AuthShowCmd    `cmd:"" help:"Show roles, their public keys and permissions, and when certificates end."`
	Rotate  AuthRotateCmd  `cmd:"" help:"Make a new key of a role, or a new certificate of the server."`
	Host    AuthHostCmd    `cmd:"" help:"Make a key with which the server of another host joins this one's."`
	Rigs    AuthRigsCmd    `cmd:"" help:"Write nats-server.conf, for a server of one's own, anew for other rigs."`
	Prepare AuthPrepareCmd `cmd:"" help:"Make the bucket of a rig on a server that runs, for stage programs that are started without 'facetrack up'."`
}

// AuthDir is where credentials lie.
type AuthDir struct {
	Dir string `type:"path" placeholder:"DIR" env:"FACETRACK_CREDENTIALS" help:"Folder of the credentials; without it facetrack/auth in the user's configuration folder."`
}

func (d AuthDir) dir() string {
	if d.Dir != "" {
		return d.Dir
	}
	return auth.DefaultDir()
}

// AuthInitCmd is `facetrack auth init`.
type AuthInitCmd struct {
	AuthDir
	Host  []string `placeholder:"NAME" help:"Name or address by which other machines reach the server (repeatable)."`
	Rig   []string `default:"lab" help:"Rig on a server that 'facetrack up' does not start itself (repeatable)."`
	Force bool     `help:"Make everything anew although there is a set already: what has the old keys is locked out."`
}

// AuthShowCmd is `facetrack auth show`.
type AuthShowCmd struct {
	AuthDir
	Rig  string `default:"lab" env:"FACETRACK_RIG" help:"Rig whose permissions are shown."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// AuthRotateCmd is `facetrack auth rotate`.
type AuthRotateCmd struct {
	AuthDir
	What string   `arg:"" placeholder:"ROLE" help:"A role, or server for its certificate."`
	Host []string `placeholder:"NAME" help:"With server: names and addresses instead of those it had (repeatable)."`
}

// AuthRigsCmd is `facetrack auth rigs`.
type AuthRigsCmd struct {
	AuthDir
	Names []string `arg:"" placeholder:"RIG" help:"All rigs that the server is for."`
}

// AuthPrepareCmd is `facetrack auth prepare`.
type AuthPrepareCmd struct {
	BusFlags
}

// Run is `facetrack auth init`.
func (c *AuthInitCmd) Run() error {
	dir := c.dir()
	if err := auth.Init(auth.Options{Dir: dir, Hosts: c.Host, Rigs: c.Rig, Force: c.Force, Now: time.Now()}); err != nil {
		return err
	}
	o, err := auth.Show(dir, c.Rig[0])
	if err != nil {
		return err
	}
	fmt.Printf("credentials of %d roles are in %s; nobody else can read them\n", len(o.Roles), dir)
	printEnds(os.Stdout, o)
	fmt.Printf("start the rig with       facetrack up --credentials %s\nand look at it with      facetrack status --credentials %[1]s\n", dir)
	return nil
}

func printEnds(out io.Writer, o *auth.Overview) {
	_, _ = fmt.Fprintf(out, "the server's certificate is for %s and lasts until %s, the CA until %s\n",
		strings.Join(o.Hosts, ", "), o.ServerEnd.UTC().Format(time.DateOnly), o.CAEnds.UTC().Format(time.DateOnly))
}

// Run is `facetrack auth show`.
func (c *AuthShowCmd) Run() error {
	o, err := auth.Show(c.dir(), c.Rig)
	if err != nil {
		return err
	}
	if c.JSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(o)
	}
	fmt.Printf("%s\n", o.Dir)
	printEnds(os.Stdout, o)
	for _, r := range o.Roles {
		fmt.Printf("\n%s\n  key        %s, made %s\n", r.Role, r.Public, r.Made.Format(time.DateOnly))
		fmt.Printf("  publish    %s\n  subscribe  %s\n", strings.Join(r.Publish, "\n             "), strings.Join(r.Subscribe, "\n             "))
	}
	return nil
}

// Run is `facetrack auth rotate`.
func (c *AuthRotateCmd) Run() error {
	dir := c.dir()
	if c.What == "server" {
		if err := auth.RotateServer(dir, c.Host, time.Now()); err != nil {
			return err
		}
		fmt.Println("the server's certificate is new; start the server again to use it")
		return nil
	}
	role, err := auth.ParseRole(c.What)
	if err != nil {
		return fmt.Errorf("%w; or server", err)
	}
	if len(c.Host) > 0 {
		return fmt.Errorf("--host is for the certificate of the server: facetrack auth rotate server --host %s", c.Host[0])
	}
	if err := auth.Rotate(dir, role, time.Now()); err != nil {
		return err
	}
	fmt.Printf("the key of %s is new; start the server and %[1]s again to use it, until when the old one is good\n", role)
	return nil
}

// Run is `facetrack auth rigs`.
func (c *AuthRigsCmd) Run() error { return auth.SetRigs(c.dir(), c.Names) }

// Run is `facetrack auth prepare`.
func (c *AuthPrepareCmd) Run(ctx context.Context) error {
	nc, err := dial(c.NATS, "facetrack-prepare", auth.Up, c.access(), newLogger(os.Stderr, "warn"))
	if err != nil {
		return err
	}
	defer func() { _ = nc.Close() }()
	if _, err = openBucket(ctx, nc.Conn, c.Rig, auth.Up); err != nil {
		return err
	}
	_, err = openSettings(ctx, nc.Conn, c.Rig, auth.Up)
	return err
}

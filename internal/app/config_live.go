package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"

	"facetrack/internal/auth"
	"facetrack/internal/config"
	"facetrack/ipc"
)

// ChangeFlags are those of every command that changes a rig.
type ChangeFlags struct {
	BusFlags
	Wait time.Duration `default:"5s" help:"How long the processes may take to confirm."`
}

func (f *ChangeFlags) change(ctx context.Context, what string, edit func(*config.Config) error) error {
	if f.Wait <= 0 {
		return fmt.Errorf("--wait=%s: it must be positive", f.Wait)
	}
	s, err := openStore(ctx, f.BusFlags, auth.Up, false)
	if err != nil {
		return err
	}
	defer s.close()
	return s.change(ctx, what, f.Wait, edit)
}

// ConfigGetCmd prints the configuration of a rig.
type ConfigGetCmd struct {
	BusFlags
	Keys []string `arg:"" optional:"" help:"Only these, as detect.every or tracker."`
}

// Run is `facetrack config get`.
func (c *ConfigGetCmd) Run(ctx context.Context) error {
	s, err := openStore(ctx, c.BusFlags, auth.Reader, false)
	if err != nil {
		return err
	}
	defer s.close()
	cfg, _, err := s.current(ctx)
	if err != nil {
		return err
	}
	if len(c.Keys) == 0 {
		text, err := cfg.Text()
		if err == nil {
			_, err = os.Stdout.Write(text)
		}
		return err
	}
	for _, key := range c.Keys {
		values, err := cfg.Get(key)
		if err != nil {
			return err
		}
		for _, v := range values {
			fmt.Printf("%s: %s\n", v.Key, v.Text)
		}
	}
	return nil
}

// ConfigSetCmd changes settings.
type ConfigSetCmd struct {
	ChangeFlags
	Settings []string `arg:"" placeholder:"KEY=VALUE" help:"As detect.every=3, cameras.left='{source: /dev/video2}' for a new camera, cameras.left= to take it away."`
}

// Run is `facetrack config set`.
func (c *ConfigSetCmd) Run(ctx context.Context) error {
	for _, s := range c.Settings {
		if key, _, ok := strings.Cut(s, "="); !ok || key == "" {
			return fmt.Errorf("%q is no KEY=VALUE, as detect.every=3", s)
		}
	}
	return c.change(ctx, "set "+strings.Join(c.Settings, " "), func(cfg *config.Config) error {
		for _, s := range c.Settings {
			key, value, _ := strings.Cut(s, "=")
			if err := cfg.Set(key, value); err != nil {
				return err
			}
		}
		return nil
	})
}

// ConfigPutCmd stores a file.
type ConfigPutCmd struct {
	ChangeFlags
	File string `arg:"" type:"path" help:"Configuration file."`
}

// Run is `facetrack config put`.
func (c *ConfigPutCmd) Run(ctx context.Context) error {
	loaded, err := readLoaded(c.File, newLogger(os.Stderr, "warn"))
	if err != nil {
		return err
	}
	next := loaded.Config
	next.Rig = c.Rig
	if err := absolute(&next); err != nil {
		return err
	}
	s, err := openStore(ctx, c.BusFlags, auth.Up, true)
	if err != nil {
		return err
	}
	defer s.close()
	what := "put " + c.File
	if _, err := s.settings.Latest(ctx); errors.Is(err, ipc.ErrNoKey) {
		return s.first(ctx, next, what, c.Wait)
	}
	return s.change(ctx, what, c.Wait, func(cfg *config.Config) error {
		if loaded.Origin("data_dir") == config.OriginDefault { // which is below this user's home folder
			next.DataDir = cfg.DataDir
		}
		*cfg = next
		return nil
	})
}

// first stores the first configuration of a rig. Processes that run have theirs from files.
func (s *configStore) first(ctx context.Context, cfg config.Config, what string, wait time.Duration) error {
	running, err := s.running()
	if err != nil {
		return err
	}
	revision, err := s.save(ctx, what, wait, nil, cfg, 0, running)
	if err != nil {
		return err
	}
	fmt.Printf("revision %d is in effect in %d process(es)\n", revision, len(running))
	return nil
}

// ConfigEditCmd opens an editor.
type ConfigEditCmd struct{ ChangeFlags }

// Run is `facetrack config edit`.
func (c *ConfigEditCmd) Run(ctx context.Context) error {
	editor := os.Getenv("VISUAL")
	if editor == "" {
		editor = os.Getenv("EDITOR")
	}
	if editor == "" {
		return fmt.Errorf("no editor: set VISUAL or EDITOR")
	}
	return c.change(ctx, "edit", func(cfg *config.Config) error { return edited(ctx, editor, cfg) })
}

// edited has a person edit a configuration. What is wrong in it stays in the file for another try.
func edited(ctx context.Context, editor string, cfg *config.Config) error {
	text, err := cfg.Text()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp("", "facetrack-*.yaml")
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", f.Name()) //nolint:gosec // the user's own editor, which may have arguments
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("editor %s: %w; what was written is in %s", editor, err, f.Name())
	}
	after, err := os.ReadFile(f.Name())
	if err != nil {
		return err
	}
	if !bytes.Equal(text, after) {
		next, err := config.Parse(f.Name(), after)
		if err != nil {
			return err
		}
		next.Detect.ModelReason, next.Landmarks.ModelReason = cfg.Detect.ModelReason, cfg.Landmarks.ModelReason
		*cfg = next
	}
	return os.Remove(f.Name())
}

// ConfigHistoryCmd lists revisions.
type ConfigHistoryCmd struct{ BusFlags }

// Run is `facetrack config history`.
func (c *ConfigHistoryCmd) Run(ctx context.Context) error {
	s, err := openStore(ctx, c.BusFlags, auth.Reader, false)
	if err != nil {
		return err
	}
	defer s.close()
	all, err := s.history(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "revision\tstored\tby\twhat")
	for _, r := range all {
		by, what := "-", "written by hand"
		d, err := config.ParseDocument(revisionName(r.Number), r.Text)
		switch {
		case len(r.Text) == 0:
			what = "deleted"
		case err != nil:
			what = "refused: " + oneLine(err)
		case d.About.By != "":
			by, what = d.About.By, d.About.What
		}
		_, _ = fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", r.Number, r.Created.Local().Format(time.DateTime), by, what)
	}
	return w.Flush()
}

// ConfigDiffCmd compares revisions.
type ConfigDiffCmd struct {
	BusFlags
	From uint64 `arg:"" help:"Revision."`
	To   uint64 `arg:"" help:"Another."`
}

// Run is `facetrack config diff`.
func (c *ConfigDiffCmd) Run(ctx context.Context) error {
	s, err := openStore(ctx, c.BusFlags, auth.Reader, false)
	if err != nil {
		return err
	}
	defer s.close()
	from, err := s.revision(ctx, c.From)
	if err != nil {
		return err
	}
	to, err := s.revision(ctx, c.To)
	if err != nil {
		return err
	}
	for _, change := range config.Changes(from, to) {
		fmt.Println(change)
	}
	return nil
}

// ConfigRollbackCmd goes back.
type ConfigRollbackCmd struct {
	ChangeFlags
	Revision uint64 `arg:"" help:"Revision to go back to, as facetrack config history lists them."`
}

// Run is `facetrack config rollback`.
func (c *ConfigRollbackCmd) Run(ctx context.Context) error {
	s, err := openStore(ctx, c.BusFlags, auth.Up, false)
	if err != nil {
		return err
	}
	defer s.close()
	to, err := s.revision(ctx, c.Revision)
	if err != nil {
		return err
	}
	return s.change(ctx, fmt.Sprintf("rollback to revision %d", c.Revision), c.Wait, func(cfg *config.Config) error {
		*cfg = to
		return nil
	})
}

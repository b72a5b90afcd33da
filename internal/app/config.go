package app

import (
	"fmt"
	"os"

	"facetrack/docs"
	"facetrack/internal/config"
)

// ConfigCmd looks at configurations and changes that of a running rig.
type ConfigCmd struct {
	Check    ConfigCheckCmd    `cmd:"" help:"Check a file."`
	Show     ConfigShowCmd     `cmd:"" help:"Show what file and environment say, and where each value is from."`
	Schema   ConfigSchemaCmd   `cmd:"" help:"Print the JSON schema of the file, for editors."`
	Get      ConfigGetCmd      `cmd:"" help:"Print the configuration of a rig."`
	Set      ConfigSetCmd      `cmd:"" help:"Change settings of a rig while it runs."`
	Edit     ConfigEditCmd     `cmd:"" help:"Change the configuration of a rig in an editor."`
	Put      ConfigPutCmd      `cmd:"" help:"Give a rig the configuration of a file."`
	History  ConfigHistoryCmd  `cmd:"" help:"List the revisions of a rig's configuration."`
	Diff     ConfigDiffCmd     `cmd:"" help:"Tell what differs between two revisions."`
	Rollback ConfigRollbackCmd `cmd:"" help:"Go back to a revision."`
}

// ConfigCheckCmd checks a file.
type ConfigCheckCmd struct {
	File string `arg:"" type:"path" help:"Configuration file."`
}

// Run is `facetrack config check`.
func (c *ConfigCheckCmd) Run() error {
	cfg, err := config.Load(c.File)
	if err != nil {
		return err
	}
	fmt.Printf("%s is good: rig %s, %d camera(s)\n", c.File, cfg.Rig, len(cfg.Cameras))
	return nil
}

// ConfigShowCmd shows a configuration with the origin of its values.
type ConfigShowCmd struct {
	File      string `arg:"" optional:"" type:"path" help:"Configuration file."`
	Effective bool   `help:"Also what nobody has set."`
}

// Run is `facetrack config show`.
func (c *ConfigShowCmd) Run() error {
	l, err := config.Read(c.File, os.Environ())
	if err == nil {
		err = l.Finish()
	}
	if err != nil {
		return err
	}
	for _, w := range l.Warnings {
		_, _ = fmt.Fprintln(os.Stderr, "facetrack:", w)
	}
	for _, v := range l.Sourced() {
		if c.Effective || v.Origin != config.OriginDefault {
			fmt.Printf("%s: %s  # %s\n", v.Key, v.Text, v.Origin)
		}
	}
	return nil
}

// ConfigSchemaCmd prints the JSON schema.
type ConfigSchemaCmd struct{}

// Run is `facetrack config schema`.
func (ConfigSchemaCmd) Run() error {
	_, err := os.Stdout.Write(docs.Schema)
	return err
}

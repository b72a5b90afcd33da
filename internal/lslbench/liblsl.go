package lslbench

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed liblsl/sender.c
var librarySender []byte

// libraryConfig keeps the real outlets on this host.
const libraryConfig = "[ports]\nIPv6 = disable\n[multicast]\nResolveScope = machine\nListenAddress = 127.0.0.1\n[lab]\nSessionID = " + session + "\n"

// LibrarySender builds, in the folder, the sender that uses the real liblsl, and returns the command that runs it.
func LibrarySender(ctx context.Context, dir, library string, load Load) (*exec.Cmd, error) {
	library, err := filepath.Abs(library)
	if err != nil {
		return nil, err
	}
	code, bin, config := filepath.Join(dir, "sender.c"), filepath.Join(dir, "sender"), filepath.Join(dir, "lsl_api.cfg")
	if err := os.WriteFile(code, librarySender, 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(config, []byte(libraryConfig), 0o600); err != nil {
		return nil, err
	}
	build := exec.CommandContext(ctx, "gcc", "-O2", "-Wall", "-Werror", "-o", bin, code, "-ldl") //nolint:gosec // our own source
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("lslbench: gcc: %w: %s", err, out)
	}
	cmd := exec.CommandContext(ctx, bin, append([]string{library}, load.arguments()...)...) //nolint:gosec // built above
	cmd.Env = append(os.Environ(), "LSLAPICFG="+config)
	cmd.Dir = dir // where older builds look for their configuration
	return cmd, nil
}

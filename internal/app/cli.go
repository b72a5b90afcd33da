// Package app is the operator's tool and the main functions of the stages.
package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"facetrack/internal/app/supervise"
	"facetrack/internal/awake"
	"facetrack/internal/stage"
	"facetrack/internal/version"
)

// CLI is the command line of facetrack.
type CLI struct {
	Up       UpCmd       `cmd:"" help:"Start a rig: NATS server, five processes, ledger; until the sources end, --duration is over or Ctrl-C."`
	Status   StatusCmd   `cmd:"" help:"Show what the processes of a running rig are doing."`
	Top      TopCmd      `cmd:"" help:"Show them live in this terminal: cameras, stages, rates, latency, drops, GPUs, links."`
	Config   ConfigCmd   `cmd:"" help:"Look at a configuration, and change that of a rig while it runs."`
	Record   RecordCmd   `cmd:"" help:"Write the tracks of a running rig to a file, one JSON line a frame."`
	Sessions SessionsCmd `cmd:"" help:"List the sessions whose results are stored."`
	Replay   ReplayCmd   `cmd:"" help:"Feed a stored session through tracker and lsl-out again."`
	Compare  CompareCmd  `cmd:"" help:"Tell how far a recording is from what is known of its clip."`
	Models   ModelsCmd   `cmd:"" help:"List, download and check the model files."`
	Auth     AuthCmd     `cmd:"" help:"Say who may do what on the NATS server: keys, permissions, certificates."`
	Bench    BenchCmd    `cmd:"" help:"Measure this machine."`
	Eval     EvalCmd     `cmd:"" help:"Measure how good networks for faces are, beside the public ones and on rendered pictures."`
	Doctor   DoctorCmd   `cmd:"" help:"Find out what this machine lets processes share, and what to change."`
	NATS     NATSCmd     `cmd:"" name:"nats" help:"Run the embedded NATS server alone, for rigs whose processes a service manager starts."`
	Begin    BeginCmd    `cmd:"" help:"Begin a run of such a rig: store its configuration, forget the run before."`
	Cameras  CamerasCmd  `cmd:"" help:"Name the cameras of a configuration file, one a line."`
	Version  VersionCmd  `cmd:"" help:"Show the version."`
	Awake    AwakeCmd    `cmd:"" hidden:"" help:"Keep the CPUs awake until standard input ends (used by --awake)."`
	Stage    StageCmd    `cmd:"" hidden:"" help:"Run one stage (used by 'up')."`
}

// AwakeCmd keeps the CPUs awake.
type AwakeCmd struct{}

// Run ends with standard input.
func (AwakeCmd) Run() error { return awake.Run(os.Stdin) }

// keepAwake starts the process that keeps the CPUs awake, if it is wanted.
func keepAwake(wanted bool) (*awake.Keeper, error) {
	if !wanted {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return awake.Start(self, "awake")
}

// StageCmd runs a stage in this process; its flags are those of the stage's own program.
type StageCmd struct {
	Name string   `arg:"" enum:"${stages}"`
	Args []string `arg:"" optional:"" passthrough:""`
}

// VersionCmd prints the version.
type VersionCmd struct{}

// Run prints the version.
func (VersionCmd) Run() error {
	fmt.Printf("facetrack %s (%s)\n", version.SemVer, version.Commit())
	return nil
}

// Main is the main function of cmd/facetrack. It returns the exit status: 0, 1 when the command failed, 2 when
// the command line is wrong, 78 when a service cannot run with its configuration.
func Main(args []string) int {
	if len(args) >= 2 && args[0] == "stage" && stages[args[1]] != nil {
		return StageMain(args[1], args[2:])
	}
	var cli CLI
	parser, err := kong.New(&cli, kong.Name("facetrack"), kong.UsageOnError(),
		kong.Description("Real-time face tracking from several cameras, for laboratories."),
		kong.Vars{"stages": strings.Join(stage.Names, ", ")})
	if err != nil {
		panic(err) // the structures above are wrong
	}
	command, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "facetrack: %v; see facetrack --help\n", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends at once
	command.BindTo(ctx, (*context.Context)(nil))
	if err := command.Run(); err != nil {
		fmt.Fprintf(os.Stderr, "facetrack: %s\n", oneLine(err))
		if errors.Is(err, errUnfit) {
			return supervise.ExitConfig
		}
		return 1
	}
	return 0
}

// endSignals ask a process to end in order. A terminal that is closed does as well, unless nohup keeps it away.
func endSignals() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

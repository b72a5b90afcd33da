package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/auth"
	"facetrack/internal/monitor"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

// otherHost is a host as its hub sees it, and what its own processes say.
type otherHost struct {
	ipc.Host
	unknown bool // no tracker says what it is like
	stages  []telemetry.Stats
}

// hosts are those that a hub has, as its tracker says; where none answers, those of the stored configuration.
func (c *StatusCmd) hosts(ctx context.Context, nc *nats.Conn, own []telemetry.Stats) (hosts []otherHost) {
	tracked := false
	for _, s := range own {
		tracked = tracked || s.Stage == stage.Tracker
		for _, h := range s.Hosts {
			hosts = append(hosts, otherHost{Host: h})
		}
	}
	if tracked {
		return hosts
	}
	settings, err := openSettings(ctx, nc, c.Rig, auth.Reader) // it makes none
	if err != nil {
		return nil
	}
	cfg, _, err := storedConfig(ctx, settings, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil
	}
	for _, rig := range cfg.HostNames() {
		hosts = append(hosts, otherHost{Host: ipc.Host{Rig: rig}, unknown: true})
	}
	return hosts
}

// askHosts asks the hosts' processes. Those that are not reached have no answer to wait for.
func askHosts(nc *nats.Conn, hosts []otherHost, wait time.Duration) ([]otherHost, error) {
	errs := make([]error, len(hosts))
	var all sync.WaitGroup
	for i := range hosts {
		if hosts[i].Up || hosts[i].unknown {
			all.Go(func() {
				hosts[i].stages, errs[i] = monitor.Status(nc, hosts[i].Rig, stage.Names, wait)
				inOrder(hosts[i].stages)
			})
		}
	}
	all.Wait()
	return hosts, errors.Join(errs...)
}

// rigStats are the numbers of a process, with its rig where that is another host's.
type rigStats struct {
	Rig string `json:"rig,omitempty"`
	telemetry.Stats
}

func ofRig(rig string, all []telemetry.Stats) []rigStats {
	out := make([]rigStats, len(all))
	for i, s := range all {
		out[i] = rigStats{rig, s}
	}
	return out
}

func listed(hosts []otherHost) (all []rigStats) {
	for _, h := range hosts {
		all = append(all, ofRig(h.Rig, h.stages)...)
	}
	return all
}

func printHosts(out io.Writer, hosts []otherHost) {
	for _, h := range hosts {
		if h.unknown {
			_, _ = fmt.Fprintf(out, "\nhost %s: link and clock are not known: no tracker answers on this hub\n", h.Rig)
			if len(h.stages) > 0 {
				printStatus(out, h.stages)
			}
			continue
		}
		_, _ = fmt.Fprintf(out, "\nhost %s: %s\n", h.Rig, linkLine(h.Host))
		_, _ = fmt.Fprintf(out, "host %s: %s\n", h.Rig, clockLine(h.Clock, h.Steps))
		_, _ = fmt.Fprintf(out, "host %s: %d frames merged, %d too late, %d twice, %d while its clock was not known or it was away\n", h.Rig, h.Frames, h.Late, h.Old, h.Untimed)
		switch {
		case len(h.stages) > 0:
			printStatus(out, h.stages)
		case h.Up:
			_, _ = fmt.Fprintf(out, "host %s: none of its processes tells its state\n", h.Rig)
		}
	}
}

func linkLine(h ipc.Host) string {
	since := h.Since.Local().Format(time.DateTime)
	if !h.Up {
		return fmt.Sprintf("not reached since %s: %s", since, h.Reason)
	}
	return "reached since " + since
}

func clockLine(c *ipc.HostClock, steps int) string {
	if c == nil {
		return "its clock is not known"
	}
	line := fmt.Sprintf("clock %+.6f s ± %.3f ms, round trip %.3f ms, measured %.1f s ago", float64(c.OffsetNS)/1e9, float64(c.ErrorNS)/1e6, float64(c.RoundTripNS)/1e6, float64(c.AgeNS)/1e9)
	if c.DriftPPM != 0 {
		line += fmt.Sprintf(", drift %+.1f ppm", c.DriftPPM)
	}
	if steps > 0 {
		line += fmt.Sprintf(", another clock than before %d times", steps)
	}
	return line
}

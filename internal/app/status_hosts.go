package app

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/monitor"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

// otherHost is a host as its hub sees it, and what its own processes say.
type otherHost struct {
	ipc.Host
	stages []telemetry.Stats
}

// askHosts asks the hosts that a hub has. Those that are not reached have no answer to wait for.
func askHosts(nc *nats.Conn, own []telemetry.Stats, wait time.Duration) ([]otherHost, error) {
	var hosts []otherHost
	for _, s := range own {
		for _, h := range s.Hosts {
			hosts = append(hosts, otherHost{Host: h})
		}
	}
	errs := make([]error, len(hosts))
	var all sync.WaitGroup
	for i := range hosts {
		if hosts[i].Up {
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

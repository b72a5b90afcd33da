package tracker

import (
	"context"

	"facetrack/internal/hosts"
	"facetrack/ipc"
)

// join tells other hosts the time, and on a hub merges what comes from them.
func (t *tracker) join(ctx context.Context) (err error) {
	if _, err := ipc.ServeClock(t.env.Bus, t.env.Config.Rig, t.latencies); err != nil {
		return err
	}
	t.hosts, err = hosts.Start(ctx, hosts.Options{Bus: t.env.Bus, Config: t.env.Config, Log: t.env.Log, Frame: t.pairs.addOther})
	if t.hosts != nil {
		t.env.Telemetry.SetHosts(t.hosts.State)
	}
	return err
}

// latencies are the cameras whose pictures are older than their frames say.
func (t *tracker) latencies() map[string]float64 {
	all := map[string]float64{}
	for _, c := range t.now.Load().Cameras {
		if c.LatencyMS != 0 {
			all[c.Name] = c.LatencyMS
		}
	}
	return all
}

//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
)

// services reads what `nats micro stats` shows of the rig's processes; those that do not answer are left out.
func (r *rig) services() map[string]telemetry.Stats {
	r.t.Helper()
	if r.nc == nil {
		nc, err := nats.Connect(r.url)
		if err != nil {
			return nil // not up yet
		}
		r.nc = nc
		r.t.Cleanup(nc.Close)
	}
	out := map[string]telemetry.Stats{}
	for _, name := range stage.Names {
		answer, err := r.nc.Request("$SRV.STATS."+telemetry.ServiceName(name), nil, time.Second)
		if err != nil {
			continue
		}
		var service micro.Stats
		var stats telemetry.Stats
		err = json.Unmarshal(answer.Data, &service)
		if err == nil && len(service.Endpoints) != 1 {
			err = errors.New("not one endpoint")
		}
		if err == nil {
			err = json.Unmarshal(service.Endpoints[0].Data, &stats)
		}
		if err != nil {
			r.t.Fatalf("statistics of %s: %v\n%s", name, err, answer.Data)
		}
		out[name] = stats
	}
	return out
}

//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"facetrack/internal/auth"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
)

// bus is a connection to the rig's server; nil before the server is up.
func (r *rig) bus() *nats.Conn {
	if r.nc == nil {
		options, err := auth.Access{Credentials: r.credentials}.Options(auth.Reader)
		if err != nil {
			r.t.Fatal(err)
		}
		nc, err := nats.Connect(r.url, options...)
		if err != nil {
			return nil
		}
		r.nc = nc
		r.t.Cleanup(nc.Close)
	}
	return r.nc
}

// signal sends a process of the rig a signal. A process id of 0 would mean this process and all around it.
func (r *rig) signal(pid int, s syscall.Signal) {
	r.t.Helper()
	if pid <= 0 {
		r.t.Fatal("the process that is to be signalled does not answer")
	}
	if err := syscall.Kill(pid, s); err != nil {
		r.t.Fatal(err)
	}
}

// services reads what `nats micro stats` shows of the rig's processes; those that do not answer are left out.
func (r *rig) services() map[string]telemetry.Stats {
	r.t.Helper()
	out := map[string]telemetry.Stats{}
	for _, name := range stage.Names {
		if s, err := r.service(name, time.Second); err == nil {
			out[name] = s
		}
	}
	return out
}

// service asks one process; an error when it does not answer within wait.
func (r *rig) service(name string, wait time.Duration) (stats telemetry.Stats, err error) {
	r.t.Helper()
	bus := r.bus()
	if bus == nil {
		return stats, errors.New("the server is not up yet")
	}
	answer, err := bus.Request("$SRV.STATS."+telemetry.ServiceName(name), nil, wait)
	if err != nil {
		return stats, err
	}
	var service micro.Stats
	err = json.Unmarshal(answer.Data, &service)
	if err == nil && len(service.Endpoints) == 0 {
		return stats, errors.New("the service has no endpoint yet")
	}
	if err == nil && len(service.Endpoints) != 1 {
		err = fmt.Errorf("%d endpoints, want one", len(service.Endpoints))
	}
	if err == nil {
		err = json.Unmarshal(service.Endpoints[0].Data, &stats)
	}
	if err != nil {
		r.t.Fatalf("statistics of %s: %v\n%s", name, err, answer.Data)
	}
	return stats, nil
}

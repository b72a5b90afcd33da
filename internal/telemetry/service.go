package telemetry

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"facetrack/internal/version"
)

// ServiceName is the name under which a stage shows in `nats micro ls`.
func ServiceName(stage string) string { return "facetrack-" + stage }

// StatusSubject is where the stages of a rig answer with their Stats.
func StatusSubject(rig, stage string) string {
	return fmt.Sprintf("facetrack.%s.status.%s", rig, stage)
}

// Serve shows r as a NATS service until the returned service is stopped. Its statistics carry Stats as data; its metadata says what is known
// by now: the cameras that the process was started for, and the model.
func Serve(nc *nats.Conn, rig string, r *Recorder) (micro.Service, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	about := map[string]string{
		"rig": rig, "stage": r.stage, "cameras": strings.Join(r.given(), " "), "commit": version.Commit(),
		"host": host, "pid": strconv.Itoa(os.Getpid()), "restarts": strconv.Itoa(process().Restarts),
	}
	if s := r.Snapshot(); s.Model != "" {
		about["model"], about["model_reason"] = s.Model, s.Chosen
	}
	svc, err := micro.AddService(nc, micro.Config{
		Name:         ServiceName(r.stage),
		Version:      version.SemVer,
		Description:  "facetrack " + r.stage + " of rig " + rig,
		Metadata:     about,
		StatsHandler: func(*micro.Endpoint) any { return r.Snapshot() },
	})
	if err != nil {
		return nil, fmt.Errorf("NATS service %s: %w", ServiceName(r.stage), err)
	}
	// No queue group: the operator's tool asks all processes of a stage at once.
	err = svc.AddEndpoint("status", micro.HandlerFunc(func(req micro.Request) { _ = req.RespondJSON(r.Snapshot()) }),
		micro.WithEndpointSubject(StatusSubject(rig, r.stage)), micro.WithEndpointQueueGroupDisabled(),
		micro.WithEndpointMetadata(map[string]string{"answer": "JSON, the same as the statistics of this endpoint; any request will do"}))
	if err != nil {
		_ = svc.Stop()
		return nil, fmt.Errorf("NATS service %s: %w", ServiceName(r.stage), err)
	}
	return svc, nil
}

package monitor

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/telemetry"
)

// straggle is how long the further processes of a stage may answer after the first of each, at least.
const straggle = 50 * time.Millisecond

// Status asks the processes of the named stages for their numbers. It returns those that answer within wait, sooner when at least
// one process of each stage has answered and for twice as long nothing more has come: a stage may have several.
func Status(nc *nats.Conn, rig string, stages []string, wait time.Duration) ([]telemetry.Stats, error) {
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	for _, s := range stages {
		if err := nc.PublishRequest(telemetry.StatusSubject(rig, s), inbox, nil); err != nil {
			return nil, fmt.Errorf("status: %w", err)
		}
	}
	var out []telemetry.Stats
	missing := len(stages)
	answered := map[string]bool{}
	begin := time.Now()
	deadline := begin.Add(wait)
	for {
		patience := time.Until(deadline)
		if missing == 0 {
			patience = min(patience, max(straggle, 2*time.Since(begin)))
		}
		if missing == 0 && len(out) == 0 {
			break // nobody is there at all
		}
		msg, err := sub.NextMsg(patience)
		if errors.Is(err, nats.ErrTimeout) {
			break
		}
		if errors.Is(err, nats.ErrNoResponders) || err == nil && len(msg.Data) == 0 {
			missing-- // nobody listens on that subject
			continue
		}
		if err != nil {
			return out, fmt.Errorf("status: %w", err)
		}
		var s telemetry.Stats
		if err := json.Unmarshal(msg.Data, &s); err != nil {
			return out, fmt.Errorf("status: %w", err)
		}
		if out = append(out, s); !answered[s.Stage] {
			answered[s.Stage] = true
			missing--
		}
	}
	return out, nil
}

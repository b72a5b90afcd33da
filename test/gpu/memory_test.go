//go:build cuda

package gpu

import (
	"fmt"
	"testing"
	"time"

	"facetrack/internal/cuda"
)

// memory is what is taken of the GPU's memory, MiB.
type memory struct {
	Total     float64            `json:"total_mib"`               // of all processes, and the driver
	Survivors map[string]float64 `json:"survivors_mib,omitempty"` // of the processes that are never killed, as NVML reports it
	NVML      string             `json:"nvml,omitempty"`          // why Survivors is empty
}

const mebibyte = 1 << 20

// Tolerances, MiB: contexts differ by a few MiB from start to start, memory comes in pieces of 2 MiB. What 1,000 kills
// leave behind would be far more: one import that is not closed is 4 MiB for each death of capture.
const (
	tolerancePerContext  = 16
	tolerancePerSurvivor = 8
	contextsPerRig       = 3
)

func usedMemory(t *testing.T, ctx *cuda.Context, survivors map[string]int) memory {
	t.Helper()
	free, total, err := ctx.MemInfo()
	if err != nil {
		t.Fatal(err)
	}
	m := memory{Total: float64(total-free) / mebibyte}
	byPID, err := processMemory(ctx.Device().UUID)
	if err != nil {
		m.NVML = err.Error()
		return m
	}
	m.Survivors = map[string]float64{}
	for name, pid := range survivors {
		if bytes, found := byPID[pid]; found {
			m.Survivors[name] = float64(bytes) / mebibyte
		}
	}
	if len(m.Survivors) < len(survivors) {
		m.NVML = fmt.Sprintf("NVML knows %d of %d survivors", len(m.Survivors), len(survivors))
	}
	return m
}

// settledMemory waits until memory is back at the level before, or for half a minute: ended processes give theirs back
// a little later.
func settledMemory(t *testing.T, ctx *cuda.Context, survivors map[string]int, before memory) memory {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		m := usedMemory(t, ctx, survivors)
		if m.Total <= before.Total || time.Now().After(end) || !onGPU {
			return m
		}
	}
}

// compare checks the level after the kills.
func (m memory) compare(t *testing.T, before memory, rigs int) {
	t.Helper()
	if !onGPU {
		return // the imitated driver's memory is this machine's
	}
	if len(m.Survivors) == 0 || len(m.Survivors) != len(before.Survivors) {
		t.Errorf("NVML does not tell the survivors' memory: %s %s", before.NVML, m.NVML)
	}
	if grown := m.Total - before.Total; grown > float64(tolerancePerContext*contextsPerRig*rigs) {
		t.Errorf("%.0f MiB of the GPU's memory are taken, %.0f before the kills", m.Total, before.Total)
	}
	for name, now := range m.Survivors {
		if then, found := before.Survivors[name]; found && now-then > tolerancePerSurvivor {
			t.Errorf("%s has %.0f MiB of the GPU's memory, %.0f before the kills", name, now, then)
		}
	}
}

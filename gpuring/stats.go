package gpuring

import "time"

// Stats is a ring's state at one moment, and its counts since it was created.
type Stats struct {
	Slots   int          `json:"slots"`
	Held    int          `json:"held"`    // slots that a reader holds
	Writing int          `json:"writing"` // slots that are being written
	Free    int          `json:"free"`    // the rest
	Readers []ReaderInfo `json:"readers"`

	NextSeq       uint64 `json:"next_seq"`       // the number that NextSeq gives next
	PublishedNext uint64 `json:"published_next"` // one more than the highest published number; both outlive a dead writer
	Published     uint64 `json:"published"`
	Aborted       uint64 `json:"aborted"`
	NoFreeSlot    uint64 `json:"no_free_slot"` // frames that found every slot held

	ReclaimedDead    uint64 `json:"reclaimed_dead"`    // slots taken back from readers whose process had ended
	ReclaimedStalled uint64 `json:"reclaimed_stalled"` // slots taken back from readers whose heartbeat had stopped
}

// ReaderInfo describes one attached reader.
type ReaderInfo struct {
	Identity     string        `json:"identity"`
	PID          int           `json:"pid"`              // in the reader's own PID namespace
	Held         int           `json:"held"`             // slots
	HeartbeatAge time.Duration `json:"heartbeat_age_ns"` // since its last heartbeat
	Revoked      bool          `json:"revoked"`          // declared dead; its place is free again once it closes or ends
}

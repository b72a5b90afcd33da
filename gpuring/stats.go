package gpuring

import "time"

// Stats is a ring's state at one moment, and its counts since it was created.
type Stats struct {
	Slots   int          `json:"slots"`
	Held    int          `json:"held"`    // slots that a reader holds
	Writing int          `json:"writing"` // slots that are being written
	Free    int          `json:"free"`    // the rest, unfinished uploads included
	Readers []ReaderInfo `json:"readers"`

	Depth    int `json:"depth"`     // slots that Begin chooses from now
	MinSlots int `json:"min_slots"` // the least that Depth may be; Slots is the most
	PeakHeld int `json:"peak_held"` // most slots at once that were not free, in the last seconds

	DeviceBytes    int64  `json:"device_bytes,omitempty"`    // of device memory; 0 without a GPU
	Uploads        uint64 `json:"uploads,omitempty"`         // frames queued for device memory
	UploadPending  int    `json:"upload_pending,omitempty"`  // slots whose upload has not finished: not free for Begin
	UploadFailures uint64 `json:"upload_failures,omitempty"` // frames whose upload could not be queued
	UploadsLost    int    `json:"uploads_lost,omitempty"`    // slots whose frame was published, but the GPU failed during its upload

	NextSeq       uint64 `json:"next_seq"`       // the number that NextSeq gives next
	PublishedNext uint64 `json:"published_next"` // one more than the highest published number; both outlive a dead writer
	Published     uint64 `json:"published"`
	Aborted       uint64 `json:"aborted"`
	NoFreeSlot    uint64 `json:"no_free_slot"` // frames that found every slot held
	TooLate       uint64 `json:"too_late"`     // leases that found their frame overwritten

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

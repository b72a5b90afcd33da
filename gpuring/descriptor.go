package gpuring

import (
	"fmt"
	"os"

	"facetrack/internal/cuda"
)

// Descriptor is what a process needs to open a ring; an attach reply carries it as JSON.
type Descriptor struct {
	Ring         string   `json:"ring"` // "<rig>/<camera>/<generation>"
	Rig          string   `json:"rig"`
	Camera       string   `json:"camera"`
	Generation   uint64   `json:"generation"`
	Geometry     Geometry `json:"geometry"`
	Nonce        string   `json:"nonce"` // 16 hexadecimal digits; the same in both files
	ControlPath  string   `json:"control_path"`
	ControlBytes int64    `json:"control_bytes"`
	PixelPath    string   `json:"pixel_path"`
	PixelBytes   int64    `json:"pixel_bytes"`
	WriterPID    int      `json:"writer_pid"` // in the writer's PID namespace
	// Group is whom this process trusts besides its own user: a ring of this group is opened although somebody else made it.
	// It comes from the opener's configuration and is not sent.
	Group string `json:"-"`

	Device *DeviceMemory `json:"device,omitempty"` // the same frames in device memory; nil for a ring without a GPU
}

// DeviceMemory is one allocation of device memory, a multiple of 2 MiB, and what another process needs to import it.
type DeviceMemory struct {
	GPU         string        `json:"gpu_uuid"`
	Memory      cuda.Handle   `json:"memory_handle"`
	Events      []cuda.Handle `json:"event_handles,omitempty"` // one a slot, then one for the proof; none when they cannot be exported
	EventsError string        `json:"events_error,omitempty"`  // why not
	Bytes       int64         `json:"bytes"`
	First       int64         `json:"first"`  // offset of slot 0
	Stride      int64         `json:"stride"` // from slot to slot, a multiple of 512
	Ready       int64         `json:"ready"`  // offset of the ready words: one a slot, one a proof cell, one to try out
	Proofs      int64         `json:"proofs"` // offset of the proof cells, 64 bytes each
	PID         int           `json:"pid"`    // of the exporter, in its PID namespace
}

// describe fills in all but where the pixels are.
func describe(o Options, id identity) Descriptor {
	return Descriptor{
		Ring: ringID(id.rig, id.camera, id.generation), Rig: id.rig, Camera: id.camera, Generation: id.generation,
		Geometry: o.Geometry, Nonce: fmt.Sprintf("%016x", id.nonce),
		ControlPath: o.path(controlSuffix), ControlBytes: controlBytes(o.Geometry.Slots),
		WriterPID: os.Getpid(),
	}
}

package gpuring

import (
	"fmt"
	"os"
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

// Package config holds the one configuration of a rig: defaults, the strict YAML reader and the checks.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// ErrInvalid is wrapped by every error about the content of a configuration.
var ErrInvalid = errors.New("invalid configuration")

// Config is everything that the processes of one rig agree on.
type Config struct {
	Rig     string   `yaml:"rig" json:"rig"`
	DataDir string   `yaml:"data_dir" json:"data_dir"`
	NATS    NATS     `yaml:"nats" json:"nats"`
	Cameras []Camera `yaml:"cameras" json:"cameras"`
	// Participants are people with a name; without them people go by camera and number.
	Participants []Participant `yaml:"participants" json:"participants"`
	// Hosts are rigs of other machines whose servers join this one's.
	Hosts     []Host    `yaml:"hosts" json:"hosts"`
	Ring      Ring      `yaml:"ring" json:"ring"`
	IPC       IPC       `yaml:"ipc" json:"ipc"`
	CUDA      CUDA      `yaml:"cuda" json:"cuda"`
	Infer     Infer     `yaml:"infer" json:"infer"`
	Detect    Detect    `yaml:"detect" json:"detect"`
	Landmarks Landmarks `yaml:"landmarks" json:"landmarks"`
	Tracker   Tracker   `yaml:"tracker" json:"tracker"`
	LSL       LSL       `yaml:"lsl" json:"lsl"`
	Synchrony Synchrony `yaml:"synchrony" json:"synchrony"`
	Store     Store     `yaml:"store" json:"store"`
}

// NATS says which server carries the messages.
type NATS struct {
	URL    string `yaml:"url" json:"url"`
	Listen string `yaml:"listen" json:"listen"`
	// Credentials is a folder that facetrack auth init has made, or for clients the file of one seed.
	Credentials string `yaml:"credentials" json:"credentials"`
	TLS         TLS    `yaml:"tls" json:"tls"`
	Leaf        Leaf   `yaml:"leaf" json:"leaf"`
}

// TLS names other certificates than those of the folder of credentials.
type TLS struct {
	CA   string `yaml:"ca" json:"ca"`
	Cert string `yaml:"cert" json:"cert"`
	Key  string `yaml:"key" json:"key"`
}

// IPC says who may share memory with the processes of the rig.
type IPC struct {
	// Group is a group of users who may map the rings; without it the user of the processes may alone.
	Group string `yaml:"group" json:"group"`
}

// Camera is one source of frames.
type Camera struct {
	Name   string  `yaml:"name" json:"name"`
	Source string  `yaml:"source" json:"source"`
	Pace   string  `yaml:"pace" json:"pace"`
	Loop   bool    `yaml:"loop" json:"loop"`
	Width  int     `yaml:"width" json:"width"`
	Height int     `yaml:"height" json:"height"`
	FPS    float64 `yaml:"fps" json:"fps"`
	// HFOV is the horizontal field of view; 0: not known, which leaves positions out of streams.
	HFOV float64 `yaml:"hfov_degrees" json:"hfov_degrees"`
	// LatencyMS is how long before the instant at which its frame came a picture was taken.
	LatencyMS float64 `yaml:"latency_ms" json:"latency_ms"`
	Duration  float64 `yaml:"duration_s" json:"duration_s"`
	Priority  bool    `yaml:"priority" json:"priority"`
	// GPU is that of the camera's ring, as in CUDA; empty: cuda.gpu.
	GPU string `yaml:"gpu" json:"gpu,omitempty"`
}

// Ring sizes the shared frame ring of each camera.
type Ring struct {
	Dir string `yaml:"dir" json:"dir"`
	// MinSlots are always in use; up to Slots of them are while consumers hold more.
	MinSlots int `yaml:"min_slots" json:"min_slots"`
	Slots    int `yaml:"slots" json:"slots"`
	// Transports are the ways in which pixels may reach a consumer; the fastest possible one is taken.
	Transports []string `yaml:"transports" json:"transports"`
}

// CUDA says which GPU holds the rings and how its work is put in order between processes.
type CUDA struct {
	// GPU is auto, off, an ordinal or the UUID of a GPU.
	GPU string `yaml:"gpu" json:"gpu"`
	// Sync is auto, events or memops.
	Sync string `yaml:"sync" json:"sync"`
}

// DeviceRing tells whether the configuration lets pixels be shared in device memory.
func (c Config) DeviceRing() bool {
	return c.CUDA.GPU != "off" && slices.Contains(c.Ring.Transports, "cuda-ipc")
}

// GPUOf is the GPU of a camera's ring, as in CUDA.
func (c Config) GPUOf(camera Camera) string { return cmp.Or(camera.GPU, c.CUDA.GPU) }

// Auto leaves the choice of a model to the program.
const Auto = "auto"

// Detect tunes face detection.
type Detect struct {
	Model string `yaml:"model" json:"model"`
	// ModelReason says why the program chose that model, for people. It is no key of the file.
	ModelReason    string  `yaml:"-" json:"model_reason,omitempty"`
	Every          int     `yaml:"every" json:"every"`
	ScoreThreshold float64 `yaml:"score_threshold" json:"score_threshold"`
	NMSThreshold   float64 `yaml:"nms_threshold" json:"nms_threshold"`
	MaxFaces       int     `yaml:"max_faces" json:"max_faces"`
	MaxQueue       int     `yaml:"max_queue" json:"max_queue"`
}

// Landmarks tunes face points and blendshapes.
type Landmarks struct {
	Model       string  `yaml:"model" json:"model"`
	ModelReason string  `yaml:"-" json:"model_reason,omitempty"` // as in Detect
	MinPresence float64 `yaml:"min_presence" json:"min_presence"`
	MaxFaces    int     `yaml:"max_faces" json:"max_faces"`
	MaxQueue    int     `yaml:"max_queue" json:"max_queue"`
}

// Tracker tunes identities and smoothing.
type Tracker struct {
	MemorySeconds     float64   `yaml:"memory_s" json:"memory_s"`
	ReidentifySeconds float64   `yaml:"reidentify_s" json:"reidentify_s"`
	MaxIdentities     int       `yaml:"max_identities" json:"max_identities"`
	KeepRaw           bool      `yaml:"keep_raw" json:"keep_raw"`
	Smoothing         Smoothing `yaml:"smoothing" json:"smoothing"`
}

// Smoothing holds the One Euro filters.
type Smoothing struct {
	Enabled     bool    `yaml:"enabled" json:"enabled"`
	Points      OneEuro `yaml:"points" json:"points"`
	Blendshapes OneEuro `yaml:"blendshapes" json:"blendshapes"`
	Pose        OneEuro `yaml:"pose" json:"pose"`
	Gaze        OneEuro `yaml:"gaze" json:"gaze"`
}

// OneEuro is the parameter set of one One Euro filter.
type OneEuro struct {
	MinCutoff float64 `yaml:"min_cutoff_hz" json:"min_cutoff_hz"`
	Beta      float64 `yaml:"beta" json:"beta"`
	DCutoff   float64 `yaml:"d_cutoff_hz" json:"d_cutoff_hz"`
}

// LSL configures the Lab Streaming Layer outlets.
type LSL struct {
	Enabled      bool     `yaml:"enabled" json:"enabled"`
	LoopbackOnly bool     `yaml:"loopback_only" json:"loopback_only"`
	Interfaces   []string `yaml:"interfaces" json:"interfaces"`
	// BasePort and PortRange are tried first for data and time, DiscoveryPort is where queries come.
	BasePort      int    `yaml:"base_port" json:"base_port"`
	PortRange     int    `yaml:"port_range" json:"port_range"`
	DiscoveryPort int    `yaml:"discovery_port" json:"discovery_port"`
	SessionID     string `yaml:"session_id" json:"session_id"`
	// Slots are people whose streams exist before they are seen, in each camera that names nobody; up to MaxSlots get streams.
	Slots    int `yaml:"slots" json:"slots"`
	MaxSlots int `yaml:"max_slots" json:"max_slots"`
	// Mesh adds a stream of all points.
	Mesh bool `yaml:"mesh" json:"mesh"`
}

// Default is the configuration without any file or flag.
func Default() Config {
	return Config{
		Rig:     "lab",
		DataDir: defaultDataDir(),
		NATS:    NATS{Listen: "127.0.0.1:4222"},
		Ring:    Ring{Dir: "/dev/shm", MinSlots: 4, Slots: 8, Transports: []string{"cuda-ipc", "shm", "copy"}},
		CUDA:    CUDA{GPU: "auto", Sync: "auto"},
		Infer:   Infer{Backend: "auto", Precision: "auto", Mode: "balanced", MaxBatch: 64, Threads: 1},
		Detect:  Detect{Model: Auto, Every: 5, ScoreThreshold: 0.6, NMSThreshold: 0.3, MaxFaces: 16, MaxQueue: 6},
		Landmarks: Landmarks{
			Model: Auto, MinPresence: 0.5, MaxFaces: 8, MaxQueue: 6,
		},
		Tracker: Tracker{
			MemorySeconds: 3, ReidentifySeconds: 30, MaxIdentities: 32, KeepRaw: false,
			Smoothing: Smoothing{
				Enabled:     true,
				Points:      OneEuro{MinCutoff: 2, Beta: 20, DCutoff: 1},
				Blendshapes: OneEuro{MinCutoff: 3, Beta: 3, DCutoff: 2},
				Pose:        OneEuro{MinCutoff: 1.5, Beta: 0.3, DCutoff: 1},
				Gaze:        OneEuro{MinCutoff: 1.5, Beta: 0.1, DCutoff: 1},
			},
		},
		LSL:       LSL{Enabled: true, Slots: 1, MaxSlots: 16, SessionID: "default", BasePort: 16572, PortRange: 32, DiscoveryPort: 16571},
		Synchrony: defaultSynchrony(),
		Store:     defaultStore(),
	}
}

// FirstCameras tells which cameras' frames go first where several wait.
func (c Config) FirstCameras() func(camera string) bool {
	first := map[string]bool{}
	for _, cam := range c.Cameras {
		first[cam.Name] = cam.Priority
	}
	return func(camera string) bool { return first[camera] }
}

// DefaultCamera is camera number i (from 0) with nothing but defaults.
func DefaultCamera(i int) Camera {
	return Camera{Name: fmt.Sprintf("cam%d", i), Pace: "realtime"}
}

func defaultDataDir() string {
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "facetrack")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "facetrack")
	}
	return filepath.Join(home, ".local", "state", "facetrack")
}

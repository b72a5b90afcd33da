package app

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"facetrack/internal/config"
	"facetrack/internal/source"
	"facetrack/internal/stage"
)

// UpCmd starts a rig. Flags win over the configuration file.
type UpCmd struct {
	Config   string        `type:"path" help:"Configuration file; facetrack.example.yaml shows all keys."`
	Source   []string      `short:"s" sep:"none" help:"A camera, repeatable: file, folder of pictures, rtsp://…, /dev/videoN, synthetic:… or demo. Replaces the file's list."`
	Pace     string        `help:"realtime, or max: as fast as possible without a drop."`
	FPS      float64       `name:"fps" placeholder:"N" help:"Frames per second of recordings and, if it can, of a camera."`
	Loop     bool          `help:"Play files again and again."`
	Duration time.Duration `help:"Stop after this time, as 60s."`
	Record   string        `placeholder:"FILE.jsonl" type:"path" help:"Write the tracks to a new file, one JSON line a frame."`
	XDF      string        `name:"xdf" placeholder:"FILE.xdf" type:"path" help:"Write the streams that LSL readers get to a new file, as LabRecorder does."`
	Summary  string        `placeholder:"FILE.json" type:"path" help:"Write the account of all frames at the end."`
	NATS     string        `name:"nats" placeholder:"URL" help:"Use this NATS server (with JetStream) instead of an embedded one."`
	Listen   string        `placeholder:"HOST:PORT" help:"Address of the embedded NATS server; port -1 takes any free one. Any but a loopback address needs --credentials."`
	AccessFlags
	TLSCert   string   `name:"tls-cert" placeholder:"FILE" type:"path" env:"FACETRACK_TLS_CERT" help:"Certificate of the embedded NATS server; without it the one of --credentials."`
	TLSKey    string   `name:"tls-key" placeholder:"FILE" type:"path" env:"FACETRACK_TLS_KEY" help:"Key of that certificate."`
	DataDir   string   `placeholder:"DIR" type:"path" help:"Where the embedded server keeps its data."`
	Rig       string   `help:"Name of the rig."`
	Model     string   `placeholder:"NAME" help:"Detector model: auto, yunet-320, yunet-640 (small faces), blazeface, facetrack-detector or a file."`
	Backend   string   `help:"Inference: auto, cpu, cuda or reference."`
	InferMode string   `name:"infer-mode" placeholder:"MODE" help:"How long frames wait on a GPU for those of other cameras: latency, balanced or throughput."`
	Precision string   `placeholder:"WORD" help:"Of the networks: auto, fp16 or fp32."`
	Transport []string `enum:"cuda-ipc,shm,copy" help:"Ways in which pixels may reach a process (repeatable): ${enum}."`
	GPU       string   `name:"gpu" placeholder:"GPU" help:"GPU of the rings: auto, off, a number or a UUID."`
	Sync      string   `name:"gpu-sync" help:"How an upload is waited for on the GPU: auto, events or memops."`
	NoLSL     bool     `name:"no-lsl" help:"Offer no LSL streams."`
	Store     bool     `help:"Keep the results on the NATS server, within the limits of store.* in the configuration: for facetrack sessions and replay."`
	Threads   bool     `help:"Run the stages as threads of this process instead of processes."`
	Quiet     bool     `short:"q" help:"No progress and no summary table."`
	Awake     bool     `help:"Keep the CPUs from sleeping between frames: a third of the latency in a virtual machine, at the price of power."`
	LogLevel  string   `default:"warn" enum:"debug,info,warn,error" help:"Least level of log lines: ${enum}."`
}

// configuration is what flags, environment and file say.
func (u *UpCmd) configuration() (config.Config, error) {
	l, err := u.load()
	if err != nil {
		return config.Config{}, err
	}
	return l.Config, nil
}

// load merges flags into the configuration.
func (u *UpCmd) load() (*config.Loaded, error) {
	l, err := config.Read(u.Config, os.Environ())
	if err != nil {
		return nil, err
	}
	for _, f := range []struct {
		flag, value, key string
		to               *string
	}{
		{"--nats", u.NATS, "nats.url", &l.NATS.URL},
		{"--listen", u.Listen, "nats.listen", &l.NATS.Listen},
		{"--credentials", u.Credentials, "nats.credentials", &l.NATS.Credentials},
		{"--tls-ca", u.TLSCA, "nats.tls.ca", &l.NATS.TLS.CA},
		{"--tls-cert", u.TLSCert, "nats.tls.cert", &l.NATS.TLS.Cert},
		{"--tls-key", u.TLSKey, "nats.tls.key", &l.NATS.TLS.Key},
		{"--data-dir", u.DataDir, "data_dir", &l.DataDir},
		{"--rig", u.Rig, "rig", &l.Rig},
		{"--model", u.Model, "detect.model", &l.Detect.Model},
		{"--backend", u.Backend, "infer.backend", &l.Infer.Backend},
		{"--infer-mode", u.InferMode, "infer.mode", &l.Infer.Mode},
		{"--precision", u.Precision, "infer.precision", &l.Infer.Precision},
		{"--gpu", u.GPU, "cuda.gpu", &l.CUDA.GPU},
		{"--gpu-sync", u.Sync, "cuda.sync", &l.CUDA.Sync},
	} {
		if f.value != "" {
			*f.to = f.value
			l.Flag(f.flag, f.key)
		}
	}
	if len(u.Transport) > 0 {
		l.Ring.Transports = u.Transport
		l.Flag("--transport", "ring.transports")
	}
	if u.NoLSL {
		l.LSL.Enabled = false
		l.Flag("--no-lsl", "lsl.enabled")
	}
	if u.Store {
		l.Store.Enabled = true
		l.Flag("--store", "store.enabled")
	}
	u.loadCameras(l)
	if u.Duration < 0 {
		return nil, fmt.Errorf("--duration=%s: it must not be negative", u.Duration)
	}
	if err := different([]string{"--record", u.Record}, []string{"--xdf", u.XDF}, []string{"--summary", u.Summary}); err != nil {
		return nil, err
	}
	if len(l.Cameras) == 0 {
		return nil, fmt.Errorf("no camera: name one with --source (a file, /dev/video0, rtsp://…, demo, synthetic:faces=2), or list cameras in a file for --config")
	}
	return l, l.Finish()
}

func (u *UpCmd) loadCameras(l *config.Loaded) {
	if len(u.Source) > 0 {
		l.Cameras = nil
		l.Flag("--source", "cameras")
	}
	for i, s := range u.Source {
		c := config.DefaultCamera(i)
		c.Source = s
		l.Cameras = append(l.Cameras, c)
	}
	for i := range l.Cameras {
		if u.Pace != "" {
			l.Cameras[i].Pace = u.Pace
			l.Flag("--pace", "cameras[].pace")
		}
		if u.FPS != 0 {
			l.Cameras[i].FPS = u.FPS
			l.Flag("--fps", "cameras[].fps")
		}
		if u.Loop {
			l.Cameras[i].Loop = true
			l.Flag("--loop", "cameras[].loop")
		}
	}
}

// different checks that no two flags name the same file.
func different(flags ...[]string) error {
	for i, a := range flags {
		for _, b := range flags[i+1:] {
			if a[1] != "" && a[1] == b[1] {
				return fmt.Errorf("%s and %s name the same file %s: choose two", a[0], b[0], a[1])
			}
		}
	}
	return nil
}

func set(to *string, value string) {
	if value != "" {
		*to = value
	}
}

// absolute makes paths in the configuration independent of the working folder of a child.
func absolute(cfg *config.Config) error {
	for _, p := range cfg.NATS.Files() {
		if *p == "" {
			continue
		}
		path, err := filepath.Abs(*p)
		if err != nil {
			return err
		}
		*p = path
	}
	for i := range cfg.Cameras {
		c := &cfg.Cameras[i]
		options, file := source.SplitMemory(c.Source)
		if file == source.Demo {
			continue // whatever else has this name
		}
		if _, err := os.Lstat(file); err != nil {
			continue // not a path, or one that capture will complain about
		}
		path, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		c.Source = options + path
	}
	return nil
}

// consumers are the stages that are ready before capture starts, in the order of their shutdown.
var consumers = []string{stage.Detect, stage.Landmarks, stage.Tracker, stage.LSLOut}

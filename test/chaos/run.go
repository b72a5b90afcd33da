package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"facetrack/internal/stage"
)

const (
	storeBytes  = 64 << 20 // of the NATS server's disk
	recordBytes = 96 << 20 // of the recording's disk: a long run fills it by itself
	startWithin = 60 * time.Second
	restFor     = 5 * time.Second // before the steps and after them
	restWithin  = 20 * time.Second
	stopWithin  = 30 * time.Second
)

// scene is all that a run needs.
type scene struct {
	flags   *Flags
	log     *slog.Logger
	dir     string
	store   *disk
	films   *disk // where the recording goes
	bus     *bus
	proxy   *proxy
	cam     *webcam
	rig     *rig
	obs     *observer
	hearing *hearing
	clean   []func() error // the other way round
}

func (s *scene) later(f func() error) { s.clean = append(s.clean, f) }

func (s *scene) close() error {
	var errs []error
	for i := len(s.clean) - 1; i >= 0; i-- {
		errs = append(errs, s.clean[i]())
	}
	return errors.Join(errs...)
}

// run does everything. An error means that it says nothing about the rig.
func run(ctx context.Context, flags *Flags, log *slog.Logger) (report *Report, err error) {
	s := &scene{flags: flags, log: log}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.prepare(); err != nil {
		return nil, err
	}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	return s.try(ctx)
}

// prepare makes clips, disks, server, proxy and camera.
func (s *scene) prepare() (err error) {
	if s.dir, err = s.folder(); err != nil {
		return err
	}
	name := fmt.Sprintf("chaos-%d", os.Getpid())
	s.rig = &rig{
		program: s.flags.Program, name: name, dir: s.dir, log: filepath.Join(s.dir, "facetrack.log"), witness: func() int { return 0 },
	}
	if s.store, err = newDisk(filepath.Join(s.dir, "store"), storeBytes); err != nil {
		return err
	}
	s.later(s.store.close)
	if s.films, err = newDisk(filepath.Join(s.dir, "films"), recordBytes); err != nil {
		return err
	}
	s.later(s.films.close)
	for i := range fileCameras {
		clip, err := writeClip(s.dir, i)
		if err != nil {
			return err
		}
		s.rig.clips = append(s.rig.clips, clip)
		s.later(func() error { return os.Remove(clip) })
	}
	return s.connect()
}

// folder is a new one, and is removed at the end unless it is to be kept.
func (s *scene) folder() (string, error) {
	if s.flags.Keep != "" {
		return s.flags.Keep, os.Mkdir(s.flags.Keep, 0o700)
	}
	dir, err := os.MkdirTemp("", "facetrack-chaos-")
	s.later(func() error { return os.RemoveAll(dir) })
	return dir, err
}

func (s *scene) connect() (err error) {
	var ports [3]int
	from := s.flags.Port
	for i := range ports {
		if ports[i], err = freePort(from); err != nil {
			return err
		}
		from = ports[i] + 1
	}
	s.bus = &bus{port: ports[0], dir: s.store.dir, log: filepath.Join(s.dir, "nats.log")}
	if err := errors.Join(s.bus.start(), s.bus.ready(startWithin)); err != nil {
		return err
	}
	s.later(s.bus.kill)
	if s.proxy, err = newProxy(ports[1], ports[0]); err != nil {
		return err
	}
	s.later(func() error { s.proxy.close(); return nil })
	frames, err := jpegFrames(fileCameras)
	if err != nil {
		return err
	}
	if s.cam, err = newWebcam(ports[2], frames, clipRate); err != nil {
		return err
	}
	s.later(s.cam.close)
	s.rig.direct, s.rig.url = s.bus.url(), fmt.Sprintf("nats://127.0.0.1:%d", ports[1])
	return nil
}

func (s *scene) cameras() []string {
	names := []string{netCamera}
	for i := range fileCameras {
		names = append(names, fileCamera(i))
	}
	return names
}

// start starts the rig and waits until all cameras are tracked.
func (s *scene) start(ctx context.Context) error {
	truths := map[string]truth{}
	for i := range fileCameras {
		t, err := newTruth(i)
		if err != nil {
			return err
		}
		truths[fileCamera(i)] = t
	}
	var err error
	if s.obs, err = newObserver(s.rig.direct, s.rig.name, truths); err != nil {
		return err
	}
	s.later(func() error { s.obs.close(); return nil })
	config, err := s.rig.config(fmt.Sprintf("http://%s/video", s.cam.listen.Addr()))
	if err != nil {
		return err
	}
	if err := s.rig.start(config, s.recording()); err != nil {
		return err
	}
	s.later(func() error { s.rig.kill(); return nil })
	if s.hearing, err = newHearing(s.rig.url, s.rig.name); err != nil {
		return err
	}
	s.rig.witness = s.hearing.pid
	s.later(func() error { _, err := s.hearing.close(); return err })
	if !s.rests(ctx, startWithin) {
		text, _ := os.ReadFile(s.rig.log)
		return fmt.Errorf("%w: %s", errEarly, text)
	}
	return nil
}

func (s *scene) recording() string { return filepath.Join(s.films.dir, "tracks.jsonl") }

// rests waits until frames of all cameras are tracked that are captured from now on.
func (s *scene) rests(ctx context.Context, within time.Duration) bool {
	since := now()
	for end := time.Now().Add(within); time.Now().Before(end) && ctx.Err() == nil && s.rig.running(); _ = pause(ctx, 100*time.Millisecond) {
		if s.obs.flowing(since, s.cameras()) {
			return true
		}
	}
	return false
}

// try does the steps of the plan and judges what was seen.
func (s *scene) try(ctx context.Context) (*Report, error) {
	in := &injector{rig: s.rig, bus: s.bus, proxy: s.proxy, cam: s.cam, obs: s.obs, disks: []*disk{s.store, s.films}, log: s.log}
	eyes, probe := newSampler(s.rig, s.obs, in.busPID), newProbe()
	rest := func() error { return pause(ctx, min(restFor, s.flags.For/8)) }
	if err := rest(); err != nil {
		return nil, err
	}
	steps := plan(s.flags.Seed, s.flags.For)
	f := &findings{begin: now()}
	in.run(ctx, steps)
	rested := s.rests(ctx, restWithin)
	f.end = now()
	if err := rest(); err != nil {
		return nil, err
	}
	last, _ := eyes.last()
	eyes.close()
	probe.close()
	alive := s.rig.running()
	seen, err := s.hearing.close()
	if err != nil {
		return nil, err
	}
	ended := s.rig.stop(stopWithin)
	s.obs.close()
	f.events, f.samples, f.probe, f.cameras = in.events, eyes.all, probe, s.obs.cameras
	f.judge()
	f.measured.Witness = seen
	for _, torn := range seen.Torn {
		f.violate(1, f.begin, "a reader was told that it had a whole frame: %s", torn)
	}
	if seen.Checked == 0 {
		f.violate(1, f.begin, "no frame was read beside the rig's own processes: %v", seen.Refused)
	}
	if !alive {
		f.violate(0, f.end, "facetrack up ended by itself: %v", ended)
	}
	if !rested {
		f.violate(3, f.end, "not all cameras were tracked within %s after the last step", restWithin)
	}
	if alive && len(last.stages) < len(stage.Names) {
		f.violate(3, f.end, "%d of %d stages answer at the end", len(last.stages), len(stage.Names))
	}
	return s.conclude(f, steps, alive, ended)
}

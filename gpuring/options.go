package gpuring

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"

	"facetrack/internal/cuda"
)

// DefaultDir is where rings live unless Options.Dir names another folder.
const DefaultDir = "/dev/shm"

// Options is what Create needs to know.
type Options struct {
	Dir      string // a folder on a tmpfs; DefaultDir when empty
	Rig      string // 1 to 32 of A-Z a-z 0-9 _ -
	Camera   string // 1 to 32 of A-Z a-z 0-9 _ -
	Geometry Geometry
	// MinSlots is how deep the ring is at least, 2 to Geometry.Slots; it grows towards Geometry.Slots as readers hold
	// more, and shrinks again. 0: always Geometry.Slots.
	MinSlots int
	// GPU keeps a second copy of each slot in device memory; it must stay open until after Close. nil: host memory only.
	GPU *cuda.Context `json:"-"`
	// Fill queues on s what brings frame seq into the device memory at v.Device, without waiting for it. nil: v.Host
	// is uploaded.
	Fill     func(s *cuda.Stream, v View, seq uint64) error `json:"-"`
	FirstSeq uint64                                         // the first sequence number, unless the ring goes on with those of a writer that died
	Position int64                                          // the source position to begin with, likewise
	Logger   *slog.Logger                                   // none: nothing is logged
	Group    string                                         // a group whose users may open the ring, too; empty: this user alone
	gid      int                                            // its number
}

var token = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

func (o *Options) complete() error {
	if o.Dir == "" {
		o.Dir = DefaultDir
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	for _, name := range []struct{ what, value string }{{"rig", o.Rig}, {"camera", o.Camera}} {
		if !token.MatchString(name.value) {
			return fmt.Errorf("%w: %s %q: use 1 to 32 of A-Z a-z 0-9 _ -", ErrOptions, name.what, name.value)
		}
	}
	if err := o.Geometry.validate(); err != nil {
		return err
	}
	var err error
	if o.gid, err = groupID(o.Group); err != nil {
		return fmt.Errorf("%w: %w", ErrOptions, err)
	}
	if o.MinSlots == 0 {
		o.MinSlots = o.Geometry.Slots
	}
	if o.MinSlots < 2 || o.MinSlots > o.Geometry.Slots {
		return fmt.Errorf("%w: at least %d slots: a ring of up to %d has 2 to %[3]d at least", ErrOptions, o.MinSlots, o.Geometry.Slots)
	}
	return nil
}

// path returns the final name of a file of the ring; suffix is ".ctl" or ".pix". Rigs and cameras may hold
// a hyphen, so that two pairs can share a name: the files' headers tell them apart.
func (o *Options) path(suffix string) string {
	return filepath.Join(o.Dir, "facetrack-"+o.Rig+"-"+o.Camera+suffix)
}

func ringID(rig, camera string, generation uint64) string {
	return fmt.Sprintf("%s/%s/%d", rig, camera, generation)
}

package gpuring

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
)

// DefaultDir is where rings live unless Options.Dir names another folder.
const DefaultDir = "/dev/shm"

// Options is what Create needs to know.
type Options struct {
	Dir      string // a folder on a tmpfs; DefaultDir when empty
	Rig      string // 1 to 32 of A-Z a-z 0-9 _ -
	Camera   string // 1 to 32 of A-Z a-z 0-9 _ -
	Geometry Geometry
	FirstSeq uint64       // the first sequence number, unless the ring goes on with those of a writer that died
	Logger   *slog.Logger // none: nothing is logged
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
	return o.Geometry.validate()
}

// path returns the final name of a file of the ring; suffix is ".ctl" or ".pix". Rigs and cameras may hold
// a hyphen, so that two pairs can share a name: the files' headers tell them apart.
func (o *Options) path(suffix string) string {
	return filepath.Join(o.Dir, "facetrack-"+o.Rig+"-"+o.Camera+suffix)
}

func ringID(rig, camera string, generation uint64) string {
	return fmt.Sprintf("%s/%s/%d", rig, camera, generation)
}

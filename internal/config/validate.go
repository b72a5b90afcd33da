package config

import (
	"fmt"
	"net"
	"regexp"
	"strings"
	"unicode"
)

var (
	token = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)
	gpu   = regexp.MustCompile(`^(auto|off|[0-9]{1,3}|(GPU|MIG)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)
)

// Validate checks values and ranges. The error names the first wrong key, its value and what is allowed.
func (c Config) Validate() error {
	if !token.MatchString(c.Rig) {
		return bad("rig", c.Rig, "1 to 32 of A-Z a-z 0-9 _ -")
	}
	if _, _, err := net.SplitHostPort(c.NATS.Listen); c.NATS.URL == "" && err != nil {
		return bad("nats.listen", c.NATS.Listen, "host:port, as 127.0.0.1:4222")
	}
	if err := c.NATS.TLS.validate(); err != nil {
		return err
	}
	if err := firstError(c.NATS.validateLeaf(), c.validateCameras(), c.validateParticipants(), c.validateHosts()); err != nil {
		return err
	}
	slots := ranges["ring.slots"]
	return firstError(
		between("ring.slots", c.Ring.Slots, int(slots.low), int(slots.high)),
		between("ring.min_slots", c.Ring.MinSlots, 2, c.Ring.Slots),
		c.Ring.validateTransports(),
		c.CUDA.validate(),
		c.validateRanges(),
		c.LSL.validate(),
		c.validateSynchrony(),
		c.Store.validate(),
	)
}

func (t TLS) validate() error {
	switch {
	case t.Cert == "" && t.Key != "":
		return bad("nats.tls.cert", t.Cert, "the certificate of nats.tls.key")
	case t.Cert != "" && t.Key == "":
		return bad("nats.tls.key", t.Key, "the key of nats.tls.cert")
	}
	return nil
}

func (c Config) validateCameras() error {
	seen := map[string]bool{}
	for i, cam := range c.Cameras {
		key := fmt.Sprintf("cameras[%d]", i)
		if !token.MatchString(cam.Name) {
			return bad(key+".name", cam.Name, "1 to 32 of A-Z a-z 0-9 _ -")
		}
		if seen[cam.Name] {
			return bad(key+".name", cam.Name, "a name that no other camera has")
		}
		seen[cam.Name] = true
		if cam.Source == "" {
			return bad(key+".source", cam.Source, "a path, URL, /dev/videoN, demo or synthetic:…")
		}
		if err := firstError(cam.validateHFOV(key+".hfov_degrees"), cam.validateGPU(key+".gpu")); err != nil {
			return err
		}
	}
	return nil
}

func (c Camera) validateHFOV(key string) error {
	if c.HFOV == 0 {
		return nil
	}
	return between(key, c.HFOV, 1, 175)
}

func (c Camera) validateGPU(key string) error {
	if c.GPU == "" {
		return nil
	}
	return validGPU(key, c.GPU)
}

func validGPU(key, name string) error {
	if gpu.MatchString(name) {
		return nil
	}
	return bad(key, name, "auto, off, a number as 0, or a UUID as nvidia-smi -L prints it (GPU-…)")
}

func (l LSL) validate() error {
	if l.LoopbackOnly && len(l.Interfaces) > 0 {
		return bad("lsl.interfaces", l.Interfaces, "empty where lsl.loopback_only is set")
	}
	if l.SessionID == "" || strings.ContainsFunc(l.SessionID, func(r rune) bool { return r == '\'' || unicode.IsControl(r) }) {
		return bad("lsl.session_id", l.SessionID, "a text without apostrophe and line ends, as default")
	}
	return between("lsl.slots", l.Slots, 0, min(64, l.MaxSlots))
}

func (r Ring) validateTransports() error {
	if len(r.Transports) == 0 {
		return bad("ring.transports", r.Transports, "a list of cuda-ipc, shm, copy")
	}
	return nil
}

func (c CUDA) validate() error {
	return validGPU("cuda.gpu", c.GPU)
}

// ValueError says that the value of a key is not allowed. It wraps ErrInvalid.
type ValueError struct {
	Key   string // as cameras[0].pace
	Value string
	Want  string
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("%v: %s is %q; it must be %s", ErrInvalid, e.Key, e.Value, e.Want)
}

// Unwrap returns ErrInvalid.
func (e *ValueError) Unwrap() error { return ErrInvalid }

func bad(key string, value any, want string) error {
	return &ValueError{Key: key, Value: fmt.Sprint(value), Want: want}
}

func between[T int | float64](key string, v, low, high T) error {
	if v >= low && v <= high { // false for NaN
		return nil
	}
	return bad(key, v, fmt.Sprintf("%v to %v", low, high))
}

func oneOf(key, v string, allowed ...string) error {
	for _, a := range allowed {
		if v == a {
			return nil
		}
	}
	return bad(key, v, fmt.Sprintf("one of %q", allowed))
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrRestart is wrapped by the error about settings that no process can change while it runs.
var ErrRestart = errors.New("not while the rig runs")

// Change is a setting that two configurations have differently. Of a camera that only one of them has, it is the camera as a whole.
type Change struct {
	Key      string
	From, To string // YAML; "" where there is none
}

func (c Change) String() string {
	switch {
	case c.From == "":
		return fmt.Sprintf("%s: added, %s", c.Key, c.To)
	case c.To == "":
		return c.Key + ": removed"
	}
	return fmt.Sprintf("%s: %s -> %s", c.Key, c.From, c.To)
}

// Changes lists what differs, in the order of the file.
func Changes(from, to Config) (all []Change) {
	before := map[string]string{}
	for _, v := range from.entries() {
		before[v.Key] = v.Text
	}
	after := map[string]bool{}
	for _, v := range to.entries() {
		after[v.Key] = true
		was, there := before[v.Key]
		if !there || was != v.Text {
			all = append(all, Change{v.Key, was, v.Text})
		}
	}
	for _, v := range from.entries() {
		if !after[v.Key] {
			all = append(all, Change{v.Key, v.Text, ""})
		}
	}
	return condensed(all)
}

// entries are the values, and each entry of a list with names as a whole, before its own.
func (c Config) entries() (all []Value) {
	for _, cam := range c.Cameras {
		all = append(all, Value{"cameras." + cam.Name, text(cam)})
	}
	for _, p := range c.Participants {
		all = append(all, Value{"participants." + p.Name, text(p)})
	}
	for _, h := range c.Hosts {
		all = append(all, Value{"hosts." + h.Name, text(h)})
	}
	return append(all, c.Values()...)
}

// condensed leaves of an entry that came or went only the entry, and of one that has changed only what has changed in it.
func condensed(all []Change) []Change {
	gone := map[string]bool{}
	changed := map[string]bool{}
	for _, c := range all {
		if isEntry(c.Key) {
			gone[c.Key] = c.From == "" || c.To == ""
			changed[c.Key] = !gone[c.Key]
		}
	}
	return slices.DeleteFunc(all, func(c Change) bool {
		if isEntry(c.Key) {
			return changed[c.Key]
		}
		return gone[entryOf(c.Key)]
	})
}

// lists are those whose entries have names.
var lists = []string{"cameras", "participants", "hosts"}

func entryOf(key string) string {
	if parts := strings.SplitN(key, ".", 3); len(parts) > 1 && slices.Contains(lists, parts[0]) {
		return parts[0] + "." + parts[1]
	}
	return ""
}

func isEntry(key string) bool { return entryOf(key) == key }

// live are the settings that processes take over while they run; one that ends with a dot stands for all that begin so.
var live = []string{
	"detect.every", "detect.score_threshold", "detect.nms_threshold", "detect.max_faces",
	"landmarks.min_presence", "landmarks.max_faces", "tracker.", "lsl.max_slots",
}

// fixed are the others: who reads them once, and why. The first that fits counts.
var fixed = []struct{ prefix, who, why string }{
	{"rig", "all processes", "it is part of every subject"},
	{"data_dir", "facetrack up", "the NATS server has its store open"},
	{"nats.", "all processes", "they are connected"},
	{"ring.", "capture, detect and landmarks", "the rings are made and attached to"},
	{"cuda.", "capture, detect and landmarks", "the rings are on the GPU, or not"},
	{"infer.", "detect and landmarks", "the networks are loaded"},
	{"detect.model", "detect", "the network is loaded"},
	{"detect.max_queue", "detect and capture", "frames wait in its queue"},
	{"landmarks.model", "landmarks, tracker and lsl-out", "the network is loaded, and streams declare its points"},
	{"landmarks.max_queue", "landmarks and capture", "frames wait in its queue"},
	{"participants", "tracker and lsl-out", "their streams are declared and open"},
	{"hosts", "facetrack up, tracker and lsl-out", "the server's permissions and the pairs are made of them"},
	{"lsl.", "lsl-out", "streams are declared and open"},
	{"synchrony.", "tracker and lsl-out", "streams declare what is compared, and how"},
	{"store.", "facetrack up", "the stream of results is made when the rig starts"},
	{"cameras.", "capture", "the camera is open: remove it and add it again"},
	{"", "all processes", "they read it when they start"},
}

// Live tells whether processes that run can take a setting over.
func Live(key string) bool {
	parts := strings.Split(key, ".")
	if parts[0] == "cameras" {
		return len(parts) == 2 || len(parts) == 3 && parts[2] == "priority"
	}
	return slices.ContainsFunc(live, func(l string) bool {
		return key == l || strings.HasSuffix(l, ".") && strings.HasPrefix(key, l)
	})
}

// CheckLive tells which changes no process can make while it runs, who would have to be started again, and why.
func CheckLive(changes []Change) error {
	var refused []string
	for _, c := range changes {
		if Live(c.Key) {
			continue
		}
		for _, f := range fixed {
			if strings.HasPrefix(c.Key, f.prefix) {
				refused = append(refused, fmt.Sprintf("%s needs a restart of %s (%s)", c.Key, f.who, f.why))
				break
			}
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrRestart, strings.Join(refused, "; "))
}

// Follow is what becomes of a configuration in effect when another one is stored: that one, or an error that says what cannot be taken over.
func (c Config) Follow(next Config) (Config, error) {
	if next.Detect.Model == Auto {
		next.Detect.Model, next.Detect.ModelReason = c.Detect.Model, c.Detect.ModelReason
	}
	if next.Landmarks.Model == Auto {
		next.Landmarks.Model, next.Landmarks.ModelReason = c.Landmarks.Model, c.Landmarks.ModelReason
	}
	if err := CheckLive(Changes(c, next)); err != nil {
		return c, err
	}
	if len(next.Cameras) == 0 && len(c.Cameras) > 0 {
		return c, fmt.Errorf("%w: no camera would be left: stop the rig instead", ErrRestart)
	}
	return next, nil
}

// CameraChanges are the cameras that came and those that went.
func CameraChanges(from, to Config) (added, removed []Camera) {
	for _, cam := range to.Cameras {
		if !from.Has(cam.Name) {
			added = append(added, cam)
		}
	}
	for _, cam := range from.Cameras {
		if !to.Has(cam.Name) {
			removed = append(removed, cam)
		}
	}
	return added, removed
}

package gpuvision

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"facetrack/internal/cuda"
	"facetrack/vision"
)

// little is a device that gives no more than some bytes at a time.
type little struct {
	*cuda.Context
	most   int64
	pinned int
	tried  []int64
}

func (l *little) Alloc(bytes int64) (*cuda.Memory, error) {
	if l.tried = append(l.tried, bytes); bytes > l.most {
		return nil, &cuda.Error{Call: "cuMemAlloc", Code: cuda.OutOfMemory}
	}
	return l.Context.Alloc(bytes)
}

func (l *little) AllocPinned(bytes int) (*cuda.Pinned, error) {
	if bytes > l.pinned {
		return nil, &cuda.Error{Call: "cuMemHostAlloc", Code: cuda.OutOfMemory}
	}
	return l.Context.AllocPinned(bytes)
}

func listen() (*slog.Logger, *strings.Builder) {
	said := &strings.Builder{}
	return slog.New(slog.NewTextHandler(said, nil)), said
}

const roomFrame = 2 << 20 // as much as the driver gives out at least

// of are frames of the host, each of so many times roomFrame; 0 is one on the device.
func of(times ...int) []arrival {
	list := make([]arrival, len(times))
	for i, n := range times {
		list[i].Frame = &Frame{Image: vision.Image{Format: vision.YUYV, Width: 1024, Height: 1024 * n}}
		if n == 0 {
			list[i].Frame = &Frame{Device: 256}
		}
	}
	return list
}

// fitted is how many frames went at a time; a minus is before one that there was no memory for.
func fitted(t *testing.T, r *room, frames []arrival) (parts []int) {
	t.Helper()
	for len(frames) > 0 {
		n, err := r.fit(frames)
		frames = frames[n:]
		if err != nil {
			if n = -n; !errors.Is(err, cuda.OutOfMemory) {
				t.Fatal(err)
			}
		}
		parts = append(parts, n)
	}
	return parts
}

// What there is no memory for is halved, and halved at once the next time; more is tried after a while. Each change is told once.
func TestRoom(t *testing.T) {
	rig := newRig(t)
	eight := of(1, 1, 1, 1, 1, 1, 1, 1)
	synctest.Test(t, func(t *testing.T) {
		from := &little{Context: rig.device.Context()}
		log, said := listen()
		r := &room{from: from, log: log}
		for i, c := range []struct {
			later  bool
			most   int64
			frames []arrival
			parts  []int
			tried  []int64
			says   string
		}{
			{most: 100, frames: of(1, 0), parts: []int{2}, tried: []int64{1}},
			{most: 3, frames: eight, parts: []int{2, 2, 2, 2}, tried: []int64{8, 4, 2}, says: "level=WARN"},
			{most: 3, frames: eight, parts: []int{2, 2, 2, 2}},
			{most: 100, frames: of(0, 1, 0, 1, 0, 1, 0), parts: []int{5, 2}},
			{most: 3, frames: eight, later: true, parts: []int{2, 2, 2, 2}, tried: []int64{4, 2}},
			{most: 3, frames: of(1, 3, 9, 1), parts: []int{1, 1, -1, 1}, tried: []int64{3}, says: "level=INFO"},
			{most: 3, frames: of(1, 9, 0, 1), later: true, parts: []int{1, -2, 1}, tried: []int64{9, 1}},
			{most: 100, frames: eight, parts: []int{3, 3, 2}, tried: []int64{3}},
			{most: 100, frames: eight, later: true, parts: []int{6, 2}, tried: []int64{6}, says: "level=INFO"},
			{most: 100, frames: eight, parts: []int{8}, tried: []int64{8}, says: "level=INFO"},
			{most: 0, frames: of(1, 9), parts: []int{-1, -1}, tried: []int64{10, 1}, says: "level=WARN"},
			{most: 0, frames: of(1, 1), parts: []int{-1, -1}},
			{most: 100, frames: of(1), later: true, parts: []int{1}, tried: []int64{1}, says: "level=INFO"},
		} {
			if c.later {
				time.Sleep(shortage)
			}
			from.most = c.most * roomFrame
			from.tried = from.tried[:0]
			said.Reset()
			parts := fitted(t, r, c.frames)
			for k := range from.tried {
				from.tried[k] /= roomFrame
			}
			if !slices.Equal(parts, c.parts) || !slices.Equal(from.tried, c.tried) {
				t.Errorf("step %d: parts %v after tries of %v, want %v, %v", i, parts, from.tried, c.parts, c.tried)
			}
			if lines := strings.Count(said.String(), "\n"); !strings.Contains(said.String(), c.says) || lines != min(1, len(c.says)) {
				t.Errorf("step %d: want %q, said: %s", i, c.says, said)
			}
		}
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
}

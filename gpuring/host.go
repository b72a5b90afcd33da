package gpuring

import (
	"errors"
	"fmt"
	"os"

	"facetrack/gpuring/internal/shm"
)

const page = 4096

var hostMemory = memory{reserve: newHostPixels, open: openHostPixels, shared: pixelBytes}

// hostPixels keeps the frames in a shared file: one page with the ring's identity, then the slots, each on a page of its own.
type hostPixels struct {
	f     *os.File // nil for a reader: the mapping is enough
	m     *shm.Map
	path  string
	final string
	frame int // bytes of a frame
	step  int // bytes from slot to slot
}

// slotStep returns the distance of two slots in bytes.
func slotStep(g Geometry) int { return (g.FrameBytes() + page - 1) / page * page }

func pixelBytes(g Geometry) int64 { return page + int64(g.Slots)*int64(slotStep(g)) }

// newHostPixels makes the pixel file under a temporary name.
func newHostPixels(o Options, id identity) (pixels, error) {
	final := o.path(pixelSuffix)
	f, path, err := createTemporary(final, id.nonce, o.gid)
	if err != nil {
		return nil, err
	}
	m, err := reserveAndMap(f, pixelBytes(o.Geometry))
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	id.put(m)
	return &hostPixels{f: f, m: m, path: path, final: final, frame: o.Geometry.FrameBytes(), step: slotStep(o.Geometry)}, nil
}

// openHostPixels maps the pixel file of a ring for reading.
func openHostPixels(d Descriptor, id identity) (pixels, error) {
	total := pixelBytes(d.Geometry)
	group, err := groupID(d.Group)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotShared, err)
	}
	f, size, err := shm.Open(d.PixelPath, group)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotShared, err)
	}
	defer func() { _ = f.Close() }() // read-only from here: the mapping keeps the memory
	if size != total || d.PixelBytes != total {
		return nil, fmt.Errorf("%w: %s has %d bytes, its geometry needs %d", ErrNotShared, d.PixelPath, size, total)
	}
	m, err := shm.MapFile(f, total, false)
	if err != nil {
		return nil, err
	}
	if found, err := getIdentity(m); err != nil || found != id {
		return nil, errors.Join(fmt.Errorf("%w: %s is of another ring", ErrNotShared, d.PixelPath), err, m.Close())
	}
	return &hostPixels{m: m, frame: d.Geometry.FrameBytes(), step: slotStep(d.Geometry)}, nil
}

func (p *hostPixels) view(slot int) View {
	return View{Host: p.m.Bytes(page+slot*p.step, p.frame)}
}

func (p *hostPixels) place(d *Descriptor) error {
	if err := os.Rename(p.path, p.final); err != nil {
		return err
	}
	p.path = p.final
	d.PixelPath, d.PixelBytes = p.final, pixelBytes(d.Geometry)
	return nil
}

func (p *hostPixels) unlink() error { return unlinkOwn(p.f, p.path) }

func (p *hostPixels) Close() error {
	err := p.m.Close()
	if p.f != nil {
		err = errors.Join(err, p.f.Close())
		p.f = nil
	}
	return err
}

package gpuvision

import (
	"errors"

	"facetrack/internal/cuda"
	"facetrack/internal/kernels/image"
	"facetrack/vision"
)

// tables keeps what fitting frames of each geometry needs, on the device.
type tables struct {
	ctx    *cuda.Context
	size   int // of the network's input
	plans  map[geometry]fitting
	blocks []*cuda.Memory
	used   int64 // bytes of the last block
}

type geometry struct {
	format        vision.Format
	width, height int
}

// fitting is the plan for a geometry, and the address of its table.
type fitting struct {
	*image.Letterbox
	table uint64
}

const (
	blockBytes = 2 << 20 // what the driver gives out at least: tables of some dozens of geometries
	mostBlocks = 8
)

// of returns the plan for frames like m, whose table is there before work that is queued later.
func (t *tables) of(stream *cuda.Stream, m vision.Image) (fitting, error) {
	key := geometry{m.Format, m.Width, m.Height}
	f, known := t.plans[key]
	if known {
		return f, nil
	}
	var err error
	if f.Letterbox, err = image.NewLetterbox(m.Format, m.Width, m.Height, t.size); err != nil {
		return f, err
	}
	if f.table, err = t.put(stream, f.Table()); err == nil {
		t.plans[key] = f
	}
	return f, err
}

func (t *tables) put(stream *cuda.Stream, table []byte) (uint64, error) {
	if len(table) == 0 {
		return 0, nil
	}
	if len(t.blocks) == 0 || t.used+int64(len(table)) > t.blocks[len(t.blocks)-1].Bytes() {
		block, err := t.ctx.Alloc(max(blockBytes, int64(len(table))))
		if err != nil {
			return 0, err
		}
		t.blocks, t.used = append(t.blocks, block), 0
	}
	address := t.blocks[len(t.blocks)-1].Address() + uint64(t.used)
	t.used += int64(aligned(uint64(len(table))))
	return address, stream.Upload(address, table)
}

// thin forgets everything when cameras went through very many geometries. Nothing may be under way.
func (t *tables) thin() error {
	if len(t.blocks) <= mostBlocks {
		return nil
	}
	return t.close()
}

func (t *tables) close() error {
	var all []error
	for _, b := range t.blocks {
		all = append(all, b.Close())
	}
	t.blocks = nil
	clear(t.plans)
	return errors.Join(all...)
}

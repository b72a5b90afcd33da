package ipc

import (
	"fmt"
	"hash/crc32"
	"strconv"

	"github.com/nats-io/nats.go"

	"facetrack/gpuring"
)

// Headers of a chunk of pixels, or of a refusal.
const (
	headerIndex      = "Face-Index"
	headerTotal      = "Face-Total"
	headerRing       = "Face-Ring"
	headerSlot       = "Face-Slot"
	headerGeneration = "Face-Generation"
	headerLength     = "Face-Length" // of the whole frame, bytes
	headerCRC        = "Face-Crc32c" // of the whole frame, CRC-32C (Castagnoli)
	headerError      = "Face-Error"  // a code; the payload is the text
)

const (
	chunkHeadroom = 512       // for the headers, which count as payload
	chunkLimit    = 256 << 10 // other messages get through between two chunks
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// chunkSize returns the pixel bytes of one message on a server that allows maxPayload bytes.
func chunkSize(maxPayload int64) int {
	return int(min(max(maxPayload-chunkHeadroom, maxPayload/2, 1), chunkLimit))
}

// chunk is what the headers of one message say.
type chunk struct {
	index, total int
	ticket       gpuring.Ticket // without Seq
	length       int
	crc          uint32
}

func (c *chunk) header() nats.Header {
	return nats.Header{
		headerIndex:      {strconv.Itoa(c.index)},
		headerTotal:      {strconv.Itoa(c.total)},
		headerRing:       {c.ticket.RingID},
		headerSlot:       {strconv.Itoa(c.ticket.Slot)},
		headerGeneration: {strconv.FormatUint(c.ticket.Generation, 10)},
		headerLength:     {strconv.Itoa(c.length)},
		headerCRC:        {strconv.FormatUint(uint64(c.crc), 16)},
	}
}

func parseChunk(h nats.Header) (c chunk, err error) {
	number := func(key string, base, bits int) uint64 {
		v, bad := strconv.ParseUint(h.Get(key), base, bits)
		if bad != nil && err == nil {
			err = fmt.Errorf("header %s: %w: %.32q", key, ErrInvalid, h.Get(key))
		}
		return v
	}
	c.index = int(number(headerIndex, 10, 31)) // #nosec G115 -- 31 bits
	c.total = int(number(headerTotal, 10, 31)) // #nosec G115 -- 31 bits
	c.ticket.RingID = h.Get(headerRing)
	c.ticket.Slot = int(number(headerSlot, 10, 31)) // #nosec G115 -- 31 bits
	c.ticket.Generation = number(headerGeneration, 10, 64)
	c.length = int(number(headerLength, 10, 31)) // #nosec G115 -- 31 bits
	c.crc = uint32(number(headerCRC, 16, 32))    // #nosec G115 -- 32 bits
	return c, err
}

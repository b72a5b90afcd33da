package gpuring

// The control block is a row of 64-bit words: header, slots, readers. Both files begin with the first
// identityWords of the header, so that each can be recognised by itself.
const (
	magic  = 0x31676e6972636166 // "facring1", little-endian
	layout = 3                  // changes with any word below

	headerWords   = 64
	identityWords = 24
	slotWords     = 8  // one cache line
	readerWords   = 16 // two
	nameWords     = 8  // 64 bytes of text
)

// MaxReaders is the number of readers that a ring can have at once: one bit each in a slot's state.
const MaxReaders = 24

// Words of the header.
const (
	hMagic          = 0
	hLayout         = 1
	hNonce          = 2  // random, the same in both files of a ring
	hGeneration     = 3  // of the ring
	hRig            = 8  // nameWords
	hCamera         = 16 // nameWords
	hWidth          = 24 // from here on in the control block only
	hHeight         = 25
	hFormat         = 26 // up to 8 letters
	hSlots          = 27
	hState          = 32 // ringStarting, ringOpen, ringClosed
	hWriterPID      = 33
	hWriterBeat     = 34 // CLOCK_MONOTONIC ns
	hReclaimDead    = 35
	hReclaimStalled = 36
	hNextSeq        = 40
	hPublishedNext  = 41
	hPosition       = 42
	hOrder          = 43 // counts publications: the order in which slots were written
	hPublished      = 44
	hAborted        = 45
	hNoFreeSlot     = 46
	hTooLate        = 47 // leases that found their frame overwritten; readers count
)

const (
	ringStarting = 0
	ringOpen     = 1
	ringClosed   = 2
)

// Words of a slot.
const (
	sState = 0 // generation<<24 | a bit for each reader that holds it; even: readable, odd: being written
	sSeq   = 1 // number of the frame
	sOrder = 2 // when it was written; 0: holds no frame
)

// Words of a reader.
const (
	rState = 0 // epoch<<2 | readerFree, readerLive or readerRevoked; the epoch counts the owners of the entry
	rPID   = 1
	rBeat  = 2 // CLOCK_MONOTONIC ns
	rMaps  = 3 // 1 while the reader has the pixels mapped
	rName  = 8 // nameWords
)

const (
	readerFree    = 0
	readerLive    = 1
	readerRevoked = 2
	statusBits    = 2
	statusMask    = 1<<statusBits - 1
)

const (
	holderBits     = MaxReaders
	holderMask     = 1<<holderBits - 1
	generationMask = 1<<(64-holderBits) - 1 // 40 bits: 17 years at 1000 frames a second into one slot
)

// nextGeneration adds one; 0 is left out because it means "never written".
func nextGeneration(g uint64) uint64 {
	g = (g + 1) & generationMask
	if g == 0 {
		g = 2
	}
	return g
}

func controlBytes(slots int) int64 {
	return int64(8 * (headerWords + slots*slotWords + MaxReaders*readerWords))
}

// The lock on byte 0 belongs to the writer, the lock on byte 1+i to the owner of reader entry i.
func readerByte(i int) int64 { return int64(1 + i) }

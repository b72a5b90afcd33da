package ipc

import (
	"errors"
	"hash/crc32"
	"testing"

	"github.com/nats-io/nats.go"

	"facetrack/gpuring"
)

var testTicket = gpuring.Ticket{RingID: "r/c/1", Slot: 2, Generation: 4, Seq: 9}

// chunksOf cuts data into n messages as a server sends them.
func chunksOf(data []byte, n int) []*nats.Msg {
	t := testTicket
	t.Seq = 0
	c := chunk{total: n, ticket: t, length: len(data), crc: crc32.Checksum(data, castagnoli)}
	size := (len(data) + n - 1) / n
	var out []*nats.Msg
	for ; c.index < n; c.index++ {
		piece := data[min(c.index*size, len(data)):min((c.index+1)*size, len(data))]
		out = append(out, &nats.Msg{Header: c.header(), Data: append([]byte(nil), piece...)})
	}
	return out
}

func TestTransferTakesOnlyItsFrame(t *testing.T) {
	data := []byte("0123456789")
	set := func(i int, key, value string) func([]*nats.Msg) {
		return func(m []*nats.Msg) { m[i].Header.Set(key, value) }
	}
	for name, c := range map[string]struct {
		damage func(m []*nats.Msg)
		want   error
	}{
		"whole":            {func([]*nats.Msg) {}, nil},
		"flipped bit":      {func(m []*nats.Msg) { m[1].Data[0] ^= 1 }, ErrTransfer},
		"missing chunk":    {func(m []*nats.Msg) { *m[1] = *m[2] }, ErrTransfer},
		"repeated chunk":   {func(m []*nats.Msg) { *m[1] = *m[0] }, ErrTransfer},
		"longer chunk":     {func(m []*nats.Msg) { m[1].Data = append(m[1].Data, "more than fits"...) }, ErrTransfer},
		"shorter chunk":    {func(m []*nats.Msg) { m[1].Data = m[1].Data[:1] }, ErrTransfer},
		"other slot":       {set(0, headerSlot, "3"), ErrTransfer},
		"other generation": {set(2, headerGeneration, "6"), ErrTransfer},
		"other ring":       {set(1, headerRing, "r/c/2"), ErrTransfer},
		"other length":     {set(0, headerLength, "11"), ErrTransfer},
		"other checksum":   {set(2, headerCRC, "0"), ErrTransfer},
		"not a number":     {set(0, headerIndex, "-0"), ErrTransfer},
		"stale":            {set(0, headerError, "stale"), gpuring.ErrStale},
		"revoked":          {set(1, headerError, "revoked"), gpuring.ErrRevoked},
		"unknown code":     {set(0, headerError, "tired"), errRefused},
		"nobody":           {func(m []*nats.Msg) { *m[0] = nats.Msg{Header: nats.Header{"Status": {"503"}}} }, ErrNoCapture},
	} {
		messages := chunksOf(data, 3)
		c.damage(messages)
		buf := make([]byte, len(data))
		tr := newTransfer(testTicket, buf)
		for _, m := range messages {
			if tr.receive(m) {
				break
			}
		}
		if err := <-tr.done; !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if c.want == nil && string(buf) != string(data) {
			t.Errorf("%s: read %q", name, buf)
		}
	}
}

func TestAbandonedTransferWritesNothing(t *testing.T) {
	buf := make([]byte, 10)
	tr := newTransfer(testTicket, buf)
	tr.abandon()
	if !tr.receive(chunksOf([]byte("0123456789"), 1)[0]) || buf[0] != 0 {
		t.Errorf("an abandoned buffer was written: %q", buf)
	}
}

func TestChunkSize(t *testing.T) {
	for payload, want := range map[int64]int{1 << 20: 256 << 10, 4096: 3584, 800: 400, 1: 1, 0: 1} {
		if got := chunkSize(payload); got != want {
			t.Errorf("chunkSize(%d) = %d, want %d", payload, got, want)
		}
	}
}

func FuzzParseChunk(f *testing.F) {
	f.Add("1", "3", "r/c/1", "2", "4", "10", "ff")
	f.Add("-1", "x", "", "99999999999", "18446744073709551616", "", "100000000")
	f.Fuzz(func(t *testing.T, index, total, ring, slot, generation, length, crc string) {
		h := nats.Header{headerIndex: {index}, headerTotal: {total}, headerRing: {ring}, headerSlot: {slot},
			headerGeneration: {generation}, headerLength: {length}, headerCRC: {crc}}
		c, err := parseChunk(h)
		if err != nil {
			return
		}
		if c.index < 0 || c.total < 0 || c.ticket.Slot < 0 || c.length < 0 {
			t.Fatalf("negative: %+v", c)
		}
		if again, err := parseChunk(c.header()); err != nil || again != c {
			t.Fatalf("%+v became %+v: %v", c, again, err)
		}
	})
}

package tflite

import (
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"
)

// table reads the fields of a FlatBuffers table. A field is named by its number in the schema. The runtime
// panics where an offset leaves the file, and trusts vector lengths; vector checks those, and Load recovers the rest.
type table struct{ fb flatbuffers.Table }

func rootTable(data []byte) table {
	return table{flatbuffers.Table{Bytes: data, Pos: flatbuffers.GetUOffsetT(data)}}
}

func (t table) offset(field int) flatbuffers.UOffsetT {
	if t.fb.Bytes == nil {
		return 0 // the table itself is absent: all defaults
	}
	return flatbuffers.UOffsetT(t.fb.Offset(flatbuffers.VOffsetT(4 + 2*field)))
}

func (t table) int32(field int, absent int32) int {
	if o := t.offset(field); o != 0 {
		return int(t.fb.GetInt32(t.fb.Pos + o))
	}
	return int(absent)
}

func (t table) uint32(field int) int {
	if o := t.offset(field); o != 0 {
		return int(t.fb.GetUint32(t.fb.Pos + o))
	}
	return 0
}

func (t table) int8(field int) int {
	if o := t.offset(field); o != 0 {
		return int(t.fb.GetInt8(t.fb.Pos + o))
	}
	return 0
}

func (t table) bool(field int) bool {
	o := t.offset(field)
	return o != 0 && t.fb.GetBool(t.fb.Pos+o)
}

// vector returns where a vector of elements of size bytes starts and how many it has, at most limit.
func (t table) vector(field, size, limit int) (start flatbuffers.UOffsetT, n int) {
	o := t.offset(field)
	if o == 0 {
		return 0, 0
	}
	start, n = t.fb.Vector(o), t.fb.VectorLen(o)
	if n > limit {
		panic(fmt.Sprintf("a vector of %d elements is above the limit of %d", n, limit))
	}
	if int(start)+n*size > len(t.fb.Bytes) {
		panic(fmt.Sprintf("a vector of %d bytes at %d leaves the file", n*size, start))
	}
	return start, n
}

func (t table) bytes(field int) []byte {
	start, n := t.vector(field, 1, len(t.fb.Bytes))
	return t.fb.Bytes[start:][:n:n]
}

func (t table) text(field int) string {
	b := t.bytes(field)
	return string(b[:min(len(b), maxName)])
}

func (t table) ints(field, limit int) []int {
	start, n := t.vector(field, 4, limit)
	out := make([]int, n)
	for i := range out {
		out[i] = int(t.fb.GetInt32(start + flatbuffers.UOffsetT(4*i)))
	}
	return out
}

// tables returns the tables of a vector of offsets.
func (t table) tables(field, limit int) []table {
	start, n := t.vector(field, 4, limit)
	out := make([]table, n)
	for i := range out {
		at := start + flatbuffers.UOffsetT(4*i)
		out[i] = table{flatbuffers.Table{Bytes: t.fb.Bytes, Pos: t.fb.Indirect(at)}}
	}
	return out
}

// child returns a table (or the value of a union); an absent one reads as all defaults.
func (t table) child(field int) table {
	var c table
	if o := t.offset(field); o != 0 {
		t.fb.Union(&c.fb, o)
	}
	return c
}

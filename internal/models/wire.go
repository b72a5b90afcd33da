package models

import (
	"encoding/binary"
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

var errWire = errors.New("malformed protocol buffer")

// wireValue is a field's value: bytes of a length-delimited one, else the number.
type wireValue struct {
	kind   protowire.Type
	bytes  []byte
	number uint64
}

// eachField walks the fields of one message.
func eachField(data []byte, visit func(protowire.Number, wireValue) error) error {
	for len(data) > 0 {
		num, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return errWire
		}
		data = data[n:]
		v, n := consume(data, kind)
		if n < 0 {
			return errWire
		}
		data = data[n:]
		if err := visit(num, v); err != nil {
			return err
		}
	}
	return nil
}

func consume(data []byte, kind protowire.Type) (v wireValue, n int) {
	v.kind = kind
	switch kind {
	case protowire.BytesType:
		v.bytes, n = protowire.ConsumeBytes(data)
	case protowire.VarintType:
		v.number, n = protowire.ConsumeVarint(data)
	case protowire.Fixed32Type:
		var bits uint32
		bits, n = protowire.ConsumeFixed32(data)
		v.number = uint64(bits)
	case protowire.Fixed64Type:
		v.number, n = protowire.ConsumeFixed64(data)
	default:
		return v, -1
	}
	return v, n
}

// floats are the values of a repeated float field: many when packed, else one.
func (v wireValue) floats() ([]float64, error) {
	switch {
	case v.kind == protowire.Fixed32Type:
		return []float64{float64(math.Float32frombits(uint32(v.number & math.MaxUint32)))}, nil
	case v.kind != protowire.BytesType || len(v.bytes)%4 != 0:
		return nil, errWire
	}
	out := make([]float64, len(v.bytes)/4)
	for i := range out {
		out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(v.bytes[4*i:])))
	}
	return out, nil
}

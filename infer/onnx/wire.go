package onnx

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one field of a protocol buffer message: number holds varints and fixed-size values, bytes the rest.
type field struct {
	num    protowire.Number
	number uint64
	bytes  []byte // set for length-delimited fields only
}

// fields calls visit for each field of a message, in order. what names the message in errors.
func fields(what string, msg []byte, visit func(field) error) error {
	for len(msg) > 0 {
		num, kind, n := protowire.ConsumeTag(msg)
		if n < 0 {
			return fmt.Errorf("%w: %s: %w", ErrMalformed, what, protowire.ParseError(n))
		}
		msg = msg[n:]
		f := field{num: num}
		switch kind {
		case protowire.VarintType:
			f.number, n = protowire.ConsumeVarint(msg)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(msg)
			f.number = uint64(v)
		case protowire.Fixed64Type:
			f.number, n = protowire.ConsumeFixed64(msg)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(msg)
		default:
			return fmt.Errorf("%w: %s: field %d has wire type %d", ErrMalformed, what, num, kind)
		}
		if n < 0 {
			return fmt.Errorf("%w: %s: field %d: %w", ErrMalformed, what, num, protowire.ParseError(n))
		}
		msg = msg[n:]
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

// appendInts adds a repeated integer field, packed or not, to list, which may grow to limit.
func appendInts(what string, list []int, f field, limit int) ([]int, error) {
	if f.bytes == nil {
		list = append(list, int(f.number))
	}
	for b := f.bytes; len(b) > 0 && len(list) <= limit; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return nil, fmt.Errorf("%w: %s: %w", ErrMalformed, what, protowire.ParseError(n))
		}
		list, b = append(list, int(v)), b[n:]
	}
	if len(list) > limit {
		return nil, fmt.Errorf("%w: %s: more than %d integers", ErrMalformed, what, limit)
	}
	return list, nil
}

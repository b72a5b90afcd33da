package lsl

// Format is the type of every value of a stream, spelled as on the wire.
type Format string

// The seven value formats of LSL. Numbers travel little endian.
const (
	Float32 Format = "float32"
	Double  Format = "double64"
	String  Format = "string"
	Int32   Format = "int32"
	Int16   Format = "int16"
	Int8    Format = "int8"
	Int64   Format = "int64"
)

// Size returns the bytes of one value; 0 for String, whose values vary, and for an unknown format.
func (f Format) Size() int {
	switch f {
	case Double, Int64:
		return 8
	case Float32, Int32:
		return 4
	case Int16:
		return 2
	case Int8:
		return 1
	default:
		return 0
	}
}

func (f Format) floating() bool { return f == Float32 || f == Double }

func (f Format) known() bool { return f == String || f.Size() > 0 }

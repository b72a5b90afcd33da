package modelbuild

import flatbuffers "github.com/google/flatbuffers/go"

// tflOps has the schema's operator codes and the numbers of their option tables (0: none is written).
var tflOps = map[string]struct{ code, options int }{
	"ADD":                {0, 11},
	"CONCATENATION":      {2, 10},
	"CONV_2D":            {3, 1},
	"DEPTHWISE_CONV_2D":  {4, 2},
	"DEQUANTIZE":         {6, 0},
	"FULLY_CONNECTED":    {9, 8},
	"LOGISTIC":           {14, 0},
	"MAX_POOL_2D":        {17, 5},
	"MUL":                {18, 21},
	"RELU":               {19, 0},
	"RESHAPE":            {22, 17},
	"PAD":                {34, 0},
	"TRANSPOSE":          {39, 0},
	"MEAN":               {40, 27},
	"SUB":                {41, 28},
	"DIV":                {42, 29},
	"STRIDED_SLICE":      {45, 32},
	"PRELU":              {54, 0},
	"NEG":                {59, 0},
	"SUM":                {74, 27},
	"SQRT":               {75, 0},
	"RSQRT":              {76, 0},
	"SQUARED_DIFFERENCE": {99, 0},
}

// options writes an operator's option table.
func (w *tflWriter) options(o *tflOperator) flatbuffers.UOffsetT {
	a := &o.attrs
	valid := 1
	if a.same {
		valid = 0
	}
	strides := []fieldWriter{int8Field{0, valid}, int32Field{1, a.stride[1]}, int32Field{2, a.stride[0]}}
	switch o.op {
	case "CONV_2D":
		return w.table(6, append(strides, int8Field{3, a.activation}, dilation{4, a.dilation[1]}, dilation{5, a.dilation[0]})...)
	case "DEPTHWISE_CONV_2D":
		return w.table(7, append(strides, int32Field{3, a.multiplier}, int8Field{4, a.activation}, dilation{5, a.dilation[1]}, dilation{6, a.dilation[0]})...)
	case "MAX_POOL_2D":
		return w.table(6, append(strides, int32Field{3, a.kernel[1]}, int32Field{4, a.kernel[0]}, int8Field{5, a.activation})...)
	case "ADD", "SUB", "MUL", "DIV", "FULLY_CONNECTED":
		return w.table(1, int8Field{0, a.activation})
	case "CONCATENATION":
		return w.table(2, int32Field{0, a.axis})
	case "MEAN", "SUM":
		keep := 0
		if a.keepDims {
			keep = 1
		}
		return w.table(1, int8Field{0, keep})
	case "STRIDED_SLICE":
		return w.table(5, int32Field{0, a.masks.Begin}, int32Field{1, a.masks.End}, int32Field{4, a.masks.Shrink})
	case "RESHAPE":
		return w.table(1)
	}
	return 0
}

// dilation is a field that is 1 when absent.
type dilation struct{ field, value int }

func (f dilation) write(b *flatbuffers.Builder) { b.PrependInt32Slot(f.field, int32(f.value), 1) }

package modelbuild

import flatbuffers "github.com/google/flatbuffers/go"

// write serialises the model; tables are finished before what refers to them.
func (m *tflModel) write() []byte {
	w := &tflWriter{fb: flatbuffers.NewBuilder(1 << 12)}
	codes, opcodes := w.operatorCodes(m.operators)
	var buffers, tensors, operators []flatbuffers.UOffsetT
	buffers = append(buffers, w.table(3)) // buffer 0 is empty by convention
	for _, t := range m.tensors {
		buffer := 0
		if t.data != nil {
			buffer = len(buffers)
			data := w.fb.CreateByteVector(t.data)
			buffers = append(buffers, w.table(3, offset{0, data}))
		}
		name, shape := w.fb.CreateString(t.name), w.ints(t.shape)
		tensors = append(tensors, w.table(8, offset{0, shape}, int8Field{1, t.kind}, int32Field{2, buffer}, offset{3, name}))
	}
	for _, o := range m.operators {
		in, out, options := w.ints(o.in), w.ints([]int{o.out}), w.options(&o)
		operators = append(operators, w.table(9, int32Field{0, codes[o.op]}, offset{1, in}, offset{2, out},
			int8Field{3, tflOps[o.op].options}, offset{4, options}))
	}
	graph := w.subgraph(m, w.offsets(tensors), w.offsets(operators))
	subgraphs, list := w.offsets([]flatbuffers.UOffsetT{graph}), w.offsets(opcodes)
	data := w.offsets(buffers)
	root := w.table(8, int32Field{0, 3}, offset{1, list}, offset{2, subgraphs}, offset{4, data})
	w.fb.FinishWithFileIdentifier(root, []byte("TFL3"))
	return w.fb.FinishedBytes()
}

func (w *tflWriter) subgraph(m *tflModel, tensors, operators flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	ends := [2][]int{}
	for i, list := range [][]Tensor{m.b.inputs, m.b.outputs} {
		for _, t := range list {
			ends[i] = append(ends[i], m.index[t.index])
		}
	}
	in, out, name := w.ints(ends[0]), w.ints(ends[1]), w.fb.CreateString(m.b.name)
	return w.table(5, offset{0, tensors}, offset{1, in}, offset{2, out}, offset{3, operators}, offset{4, name})
}

// operatorCodes lists each operator once and returns where.
func (w *tflWriter) operatorCodes(operators []tflOperator) (map[string]int, []flatbuffers.UOffsetT) {
	index, list := map[string]int{}, []flatbuffers.UOffsetT(nil)
	for _, o := range operators {
		if _, ok := index[o.op]; !ok {
			index[o.op] = len(list)
			code := tflOps[o.op].code
			list = append(list, w.table(4, int8Field{0, min(code, 127)}, int32Field{2, 1}, int32Field{3, code}))
		}
	}
	return index, list
}

// tflWriter adds vectors and tables given by field number.
type tflWriter struct{ fb *flatbuffers.Builder }

type (
	fieldWriter interface{ write(*flatbuffers.Builder) }
	offset      struct {
		field int
		at    flatbuffers.UOffsetT
	}
	int32Field struct{ field, value int }
	int8Field  struct{ field, value int }
)

func (f int32Field) write(b *flatbuffers.Builder) { b.PrependInt32Slot(f.field, int32(f.value), 0) }

func (f int8Field) write(b *flatbuffers.Builder) { b.PrependInt8Slot(f.field, int8(f.value), 0) }
func (f offset) write(b *flatbuffers.Builder)    { b.PrependUOffsetTSlot(f.field, f.at, 0) }

func (w *tflWriter) table(fields int, values ...fieldWriter) flatbuffers.UOffsetT {
	w.fb.StartObject(fields)
	for _, v := range values {
		v.write(w.fb)
	}
	return w.fb.EndObject()
}

func (w *tflWriter) ints(values []int) flatbuffers.UOffsetT {
	w.fb.StartVector(4, len(values), 4)
	for i := len(values) - 1; i >= 0; i-- {
		w.fb.PrependInt32(int32(values[i]))
	}
	return w.fb.EndVector(len(values))
}

func (w *tflWriter) offsets(list []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	w.fb.StartVector(4, len(list), 4)
	for i := len(list) - 1; i >= 0; i-- {
		w.fb.PrependUOffsetT(list[i])
	}
	return w.fb.EndVector(len(list))
}

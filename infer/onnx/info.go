package onnx

// appendInfo reads the name and shape of a graph input or output (ValueInfoProto).
func appendInfo(list []info, msg []byte) ([]info, error) {
	var v info
	err := fields("value", msg, func(f field) error {
		switch f.num {
		case 1:
			v.name = string(f.bytes)
		case 2:
			return v.typeProto(f.bytes)
		}
		return nil
	})
	return append(list, v), err
}

// typeProto goes down to the dimensions: type 1 → tensor_type 2 → shape 1 → dim 1 → dim_value.
func (v *info) typeProto(msg []byte) error {
	return fields("type", msg, only(1, func(tensorType []byte) error {
		return fields("tensor type", tensorType, only(2, func(shape []byte) error {
			v.shape = nil
			return fields("shape", shape, only(1, v.dimension))
		}))
	}))
}

func (v *info) dimension(msg []byte) error {
	var dim info
	err := fields("dimension", msg, func(f field) (err error) {
		if f.num == 1 {
			dim.shape, err = appendInts("dimension", nil, f, 1)
		}
		return err
	})
	v.shape = append(v.shape, append(dim.shape, 0)[0])
	return err
}

// only visits the length-delimited fields of one number.
func only(num int32, visit func([]byte) error) func(field) error {
	return func(f field) error {
		if int32(f.num) != num {
			return nil
		}
		return visit(f.bytes)
	}
}

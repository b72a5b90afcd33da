package infer

import "fmt"

// Words of Options.Precision.
const (
	AutoPrecision = "auto"
	FP32          = "fp32"
	FP16          = "fp16"
)

func checkPrecision(word string) error {
	switch word {
	case "", AutoPrecision, FP32, FP16:
		return nil
	}
	return fmt.Errorf("%w: precision %q; it is auto, fp32 or fp16", ErrBadInput, word)
}

// NeedsFP32 is the error of a backend that computes in float32 alone and is asked for another precision.
func (o Options) NeedsFP32() error {
	if o.Precision != FP16 {
		return nil
	}
	return fmt.Errorf("%w: precision fp16 needs the backend cuda and a GPU; this backend computes in fp32", ErrUnavailable)
}

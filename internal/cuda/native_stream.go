//go:build cuda

package cuda

// #include <cuda.h>
import "C"

import (
	"unsafe"

	"gorgonia.org/cu"
)

func (native) eventCreate(o EventOptions) (word, Code) {
	flags := cu.DefaultEvent
	if !o.Timing {
		flags |= cu.DisableTiming
	}
	if o.Interprocess {
		flags |= cu.InterprocessEvent
	}
	e, err := cu.MakeEvent(flags)
	return out(e), code(err)
}

func (native) eventDestroy(e word) Code {
	v := event(e)
	return code(cu.DestroyEvent(&v))
}

func (native) eventQuery(e word) Code       { return code(event(e).Query()) }
func (native) eventSynchronize(e word) Code { return code(event(e).Synchronize()) }

func (native) eventElapsed(from, to word) (float64, Code) {
	ms, err := event(from).Elapsed(event(to))
	return ms, code(err)
}

func (native) eventHandle(e word) (Handle, Code) {
	var h C.CUipcEventHandle
	c := C.cuIpcGetEventHandle(&h, in[C.CUevent](e))
	return *(*Handle)(unsafe.Pointer(&h)), Code(c)
}

func (native) eventOpen(h Handle) (word, Code) {
	var e C.CUevent
	c := C.cuIpcOpenEventHandle(&e, *(*C.CUipcEventHandle)(unsafe.Pointer(&h)))
	return out(e), Code(c)
}

func (native) streamCreate() (word, Code) {
	s, err := cu.MakeStream(cu.NonBlocking)
	return out(s), code(err)
}

func (native) streamDestroy(s word) Code {
	v := stream(s)
	return code(v.Destroy())
}

func (native) streamQuery(s word) Code       { return code(stream(s).Query()) }
func (native) streamSynchronize(s word) Code { return code(stream(s).Synchronize()) }
func (native) streamRecord(s, e word) Code   { return code(event(e).Record(stream(s))) }
func (native) streamWait(s, e word) Code     { return code(stream(s).Wait(event(e), 0)) }

func (native) upload(s word, dst uint64, src []byte) Code {
	return code(cu.MemcpyHtoDAsync(cu.DevicePtr(dst), unsafe.Pointer(unsafe.SliceData(src)), int64(len(src)), stream(s)))
}

func (native) download(s word, dst []byte, src uint64) Code {
	return code(cu.MemcpyDtoHAsync(unsafe.Pointer(unsafe.SliceData(dst)), cu.DevicePtr(src), int64(len(dst)), stream(s)))
}

func (native) copy(s word, dst, src uint64, bytes int64) Code {
	return code(cu.MemcpyDtoDAsync(cu.DevicePtr(dst), cu.DevicePtr(src), bytes, stream(s)))
}

func (native) fill(s word, dst uint64, value byte, bytes int64) Code {
	return code(cu.MemsetD8Async(cu.DevicePtr(dst), value, bytes, stream(s)))
}

// The default of a write puts a fence over the whole system before it: whoever sees the word sees the work before it.
func (native) write64(s word, address, value uint64, v1 bool) Code {
	to, a, v := in[C.CUstream](s), C.CUdeviceptr(address), C.cuuint64_t(value)
	if v1 {
		return Code(C.cuStreamWriteValue64(to, a, v, C.CU_STREAM_WRITE_VALUE_DEFAULT))
	}
	return Code(C.cuStreamWriteValue64_v2(to, a, v, C.CU_STREAM_WRITE_VALUE_DEFAULT))
}

func (native) waitGEQ64(s word, address, value uint64, v1 bool) Code {
	to, a, v := in[C.CUstream](s), C.CUdeviceptr(address), C.cuuint64_t(value)
	if v1 {
		return Code(C.cuStreamWaitValue64(to, a, v, C.CU_STREAM_WAIT_VALUE_GEQ))
	}
	return Code(C.cuStreamWaitValue64_v2(to, a, v, C.CU_STREAM_WAIT_VALUE_GEQ))
}

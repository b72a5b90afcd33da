//go:build cuda

package cuda

// #include <cuda.h>
import "C"

import (
	"unsafe"

	"gorgonia.org/cu"
)

func (native) memInfo() (free, total int64, c Code) {
	free, total, err := cu.MemInfo()
	return free, total, code(err)
}

func (native) memAlloc(bytes int64) (uint64, Code) {
	p, err := cu.MemAlloc(bytes)
	return uint64(p), code(err)
}

func (native) memFree(address uint64) Code { return code(cu.MemFree(cu.DevicePtr(address))) }

func (native) memBytes(address uint64) (int64, Code) {
	bytes, _, err := cu.DevicePtr(address).AddressRange()
	if err != nil {
		return 0, Unknown // cu loses the number
	}
	return bytes, 0
}

func (native) memHandle(address uint64) (Handle, Code) {
	var h C.CUipcMemHandle
	c := C.cuIpcGetMemHandle(&h, C.CUdeviceptr(address))
	return *(*Handle)(unsafe.Pointer(&h)), Code(c)
}

func (native) memOpen(h Handle) (uint64, Code) {
	var p C.CUdeviceptr
	c := C.cuIpcOpenMemHandle_v2(&p, *(*C.CUipcMemHandle)(unsafe.Pointer(&h)), C.CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
	return uint64(p), Code(c)
}

func (native) memClose(address uint64) Code {
	return Code(C.cuIpcCloseMemHandle(C.CUdeviceptr(address)))
}

func (native) hostAlloc(bytes int) ([]byte, Code) {
	var p unsafe.Pointer
	if c := C.cuMemHostAlloc(&p, C.size_t(bytes), C.CU_MEMHOSTALLOC_PORTABLE); c != 0 {
		return nil, Code(c)
	}
	return unsafe.Slice((*byte)(p), bytes), 0
}

func (native) hostFree(mem []byte) Code {
	return code(cu.MemFreeHost(unsafe.Pointer(unsafe.SliceData(mem))))
}

func (native) hostRegister(mem []byte) Code {
	return Code(C.cuMemHostRegister_v2(unsafe.Pointer(unsafe.SliceData(mem)), C.size_t(len(mem)), C.CU_MEMHOSTREGISTER_PORTABLE))
}

func (native) hostUnregister(mem []byte) Code {
	return Code(C.cuMemHostUnregister(unsafe.Pointer(unsafe.SliceData(mem))))
}

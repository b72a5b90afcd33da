//go:build cuda

package cuda

// #include <cuda.h>
import "C"

import (
	"unsafe"

	"gorgonia.org/cu"
)

func (native) deviceCount() (int, Code) {
	n, err := cu.NumDevices()
	return n, code(err)
}

func (native) deviceGet(ordinal int) (int, Code) {
	d, err := cu.GetDevice(ordinal)
	return int(d), code(err)
}

func (native) deviceName(dev int) (string, Code) {
	name, err := cu.Device(dev).Name()
	return name, code(err)
}

func (native) deviceMemory(dev int) (int64, Code) {
	n, err := cu.Device(dev).TotalMem()
	return n, code(err)
}

func (native) deviceAttribute(dev, attribute int) (int, Code) {
	v, err := cu.Device(dev).Attribute(cu.DeviceAttribute(attribute))
	return v, code(err)
}

func (native) deviceUUID(dev int) (UUID, Code) {
	u, err := cu.Device(dev).UUID()
	return UUID(u), code(err)
}

func (native) deviceUUIDv2(dev int) (UUID, Code) {
	var u C.CUuuid
	c := C.cuDeviceGetUuid_v2(&u, C.CUdevice(dev))
	return *(*UUID)(unsafe.Pointer(&u)), Code(c)
}

func (native) canAccessPeer(dev, peer int) (bool, Code) {
	can, err := cu.Device(dev).CanAccessPeer(cu.Device(peer))
	return can != 0, code(err)
}

func (native) contextRetain(dev int) (word, Code) {
	c, err := cu.Device(dev).RetainPrimaryCtx()
	return out(c), code(err)
}

func (native) contextRelease(dev int) Code { return code(cu.Device(dev).ReleasePrimaryCtx()) }

func (native) contextSet(context word) Code {
	return code(cu.SetCurrentContext(in[cu.CUContext](context)))
}

func (native) contextSynchronize() Code { return code(cu.Synchronize()) }

func (native) enablePeer(context word) Code {
	return code(in[cu.CUContext](context).EnablePeerAccess(0))
}

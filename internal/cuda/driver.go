package cuda

// word is a driver object: a pointer that only the driver follows.
type word uintptr

// driver is the driver library as this package needs it. Every method is one call of it and returns its status. The
// methods without a device argument act on the context that is current on the calling thread.
type driver interface {
	errorName(Code) string
	version() (int, Code)

	deviceCount() (int, Code)
	deviceGet(ordinal int) (dev int, code Code)
	deviceName(dev int) (string, Code)
	deviceMemory(dev int) (int64, Code)
	deviceAttribute(dev, attribute int) (int, Code)
	deviceUUID(dev int) (UUID, Code)
	deviceUUIDv2(dev int) (UUID, Code) // of the instance when the device is a MIG instance
	canAccessPeer(dev, peer int) (bool, Code)

	contextRetain(dev int) (word, Code)
	contextRelease(dev int) Code
	contextSet(context word) Code
	contextSynchronize() Code
	enablePeer(context word) Code

	memInfo() (free, total int64, code Code)
	memAlloc(bytes int64) (uint64, Code)
	memFree(address uint64) Code
	memBytes(address uint64) (int64, Code)
	memHandle(address uint64) (Handle, Code)
	memOpen(Handle) (uint64, Code)
	memClose(address uint64) Code

	hostAlloc(bytes int) ([]byte, Code)
	hostFree([]byte) Code
	hostRegister([]byte) Code
	hostUnregister([]byte) Code

	eventCreate(EventOptions) (word, Code)
	eventDestroy(event word) Code
	eventQuery(event word) Code
	eventSynchronize(event word) Code
	eventElapsed(from, to word) (float64, Code)
	eventHandle(event word) (Handle, Code)
	eventOpen(Handle) (word, Code)

	streamCreate() (word, Code)
	streamDestroy(stream word) Code
	streamQuery(stream word) Code
	streamSynchronize(stream word) Code
	streamRecord(stream, event word) Code
	streamWait(stream, event word) Code
	upload(stream word, dst uint64, src []byte) Code
	download(stream word, dst []byte, src uint64) Code
	copy(stream word, dst, src uint64, bytes int64) Code
	fill(stream word, dst uint64, value byte, bytes int64) Code
	write64(stream word, address, value uint64, v1 bool) Code
	waitGEQ64(stream word, address, value uint64, v1 bool) Code

	moduleLoad(image []byte) (word, Code)
	moduleUnload(module word) Code
	moduleFunction(module word, name string) (word, Code)
	functionShared(function word, bytes int) Code
	launch(stream, function word, grid, block Dim, shared int, values []uint64) Code

	captureBegin(stream word) Code
	captureEnd(stream word) (graph word, code Code)
	graphInstantiate(graph word) (exec word, code Code)
	graphDestroy(graph word) Code
	graphLaunch(exec, stream word) Code
	graphEnd(exec word) Code
}

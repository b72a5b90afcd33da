package cuda

// names are the errors that are met in practice, so that they have names without a driver too.
var names = map[Code]string{
	1: "CUDA_ERROR_INVALID_VALUE", 2: "CUDA_ERROR_OUT_OF_MEMORY", 3: "CUDA_ERROR_NOT_INITIALIZED", 4: "CUDA_ERROR_DEINITIALIZED",
	34: "CUDA_ERROR_STUB_LIBRARY", 46: "CUDA_ERROR_DEVICE_UNAVAILABLE",
	100: "CUDA_ERROR_NO_DEVICE", 101: "CUDA_ERROR_INVALID_DEVICE",
	200: "CUDA_ERROR_INVALID_IMAGE", 201: "CUDA_ERROR_INVALID_CONTEXT", 205: "CUDA_ERROR_MAP_FAILED", 206: "CUDA_ERROR_UNMAP_FAILED",
	208: "CUDA_ERROR_ALREADY_MAPPED", 209: "CUDA_ERROR_NO_BINARY_FOR_GPU", 214: "CUDA_ERROR_ECC_UNCORRECTABLE",
	217: "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", 218: "CUDA_ERROR_INVALID_PTX", 220: "CUDA_ERROR_NVLINK_UNCORRECTABLE",
	222: "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", 304: "CUDA_ERROR_OPERATING_SYSTEM",
	400: "CUDA_ERROR_INVALID_HANDLE", 401: "CUDA_ERROR_ILLEGAL_STATE", 500: "CUDA_ERROR_NOT_FOUND", 600: "CUDA_ERROR_NOT_READY",
	700: "CUDA_ERROR_ILLEGAL_ADDRESS", 701: "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", 702: "CUDA_ERROR_LAUNCH_TIMEOUT",
	704: "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", 705: "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", 709: "CUDA_ERROR_CONTEXT_IS_DESTROYED",
	710: "CUDA_ERROR_ASSERT", 711: "CUDA_ERROR_TOO_MANY_PEERS", 712: "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
	713: "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", 714: "CUDA_ERROR_HARDWARE_STACK_ERROR", 715: "CUDA_ERROR_ILLEGAL_INSTRUCTION",
	716: "CUDA_ERROR_MISALIGNED_ADDRESS", 717: "CUDA_ERROR_INVALID_ADDRESS_SPACE", 718: "CUDA_ERROR_INVALID_PC",
	719: "CUDA_ERROR_LAUNCH_FAILED", 800: "CUDA_ERROR_NOT_PERMITTED", 801: "CUDA_ERROR_NOT_SUPPORTED",
	802: "CUDA_ERROR_SYSTEM_NOT_READY", 803: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", 804: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
	805: "CUDA_ERROR_MPS_CONNECTION_FAILED", 806: "CUDA_ERROR_MPS_RPC_FAILURE", 807: "CUDA_ERROR_MPS_SERVER_NOT_READY",
	808: "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", 809: "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED",
	900: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", 901: "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", 999: "CUDA_ERROR_UNKNOWN",
}

// meanings say more than the name does.
var meanings = map[Code]string{
	2:   "the GPU's memory (or the limit on locked memory) is used up",
	34:  "the libcuda that was found is a toolkit's stub, not the driver",
	46:  "the GPU is busy or in exclusive mode with another process",
	100: "no GPU is visible to this process (CUDA_VISIBLE_DEVICES, container settings)",
	218: "this driver cannot compile the kernels; version 520 or newer is needed",
	222: "this driver is too old for the kernels; version 520 or newer is needed",
	700: "a kernel or copy touched memory that is not there; the process must be restarted",
	719: "a kernel crashed; the process must be restarted",
	802: "the GPUs are still being brought up (nvidia-fabricmanager)",
	803: "driver library and kernel module differ in version; restart the machine",
	805: "the MPS server cannot be reached",
	807: "the MPS server is not ready",
}

// nameOf is the driver's name of an error.
func nameOf(code Code) string {
	if name := names[code]; name != "" {
		return name
	}
	if d := loadedDriver(); d != nil {
		if name := d.errorName(code); name != "" {
			return name
		}
	}
	return "unknown CUDA error"
}

// meaning depends on the call as well where the driver uses one number for several things.
func (e *Error) meaning() string {
	switch {
	case e.Call == "cuIpcOpenMemHandle" && e.Code == InvalidContext:
		return "memory cannot be imported by the process that exported it"
	case e.Call == "cuIpcOpenMemHandle" && (e.Code == AlreadyMapped || e.Code == InvalidValue):
		return "the handle is not one of a living process on this GPU"
	case e.Call == "cuIpcOpenEventHandle" && e.Code == MapFailed:
		return "the processes share neither /dev/shm nor the IPC namespace"
	case e.Call == "cuMemHostRegister" && e.Code == HostAlreadyPinned:
		return "this memory is page-locked already"
	}
	return meanings[e.Code]
}

// Package cuda is the one place that talks to the NVIDIA driver.
//
// Everything here compiles and runs on any machine. With the build tag cuda the driver is looked up when it is first
// needed (libcuda.so.1, or what FACETRACK_LIBCUDA names, by dlopen); without the tag, without a driver or without a
// device, Init says which of these it is and everything else returns the same error.
//
// A Context is the primary context of one device; a process has at most one of each, shared and counted. Methods may
// be called from any goroutine: they make the context current on the calling thread by themselves. Device addresses
// are plain uint64. Host memory that is copied to or from asynchronously must be page-locked (Pinned) and must stay
// until the stream has passed the copy. Every Close may be called twice, in any order and while other calls are under
// way: an object ends with the last call that uses it, the context with the last object.
//
// # How it is built
//
// gorgonia.org/cu v0.9.6 is the binding, with cgo of our own beside it for what cu lacks. cu wants a toolkit's cuda.h and
// links libcuda; neither is needed here. include/cuda.h declares what the two of us use, the empty archive
// lib/libcuda.a satisfies the linker, and calls.c defines every driver call as a jump through a pointer that Init fills.
// Our header is used where a toolkit is installed, too: cu does not compile against every toolkit, and so there is one
// build everywhere. cu is another module, so both folders have to be in CGO_CFLAGS and CGO_LDFLAGS; the Makefile sets
// them. scripts/check-cuda-abi.sh compares the header with those of the toolkits on a machine, scripts/check-linkage.sh
// proves that a program can start without NVIDIA's libraries.
//
// The typed interface has no build tag; it stands on the type driver, which native implements with tag cuda.
package cuda

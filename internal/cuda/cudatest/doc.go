// Package cudatest lets tests use internal/cuda on any machine.
//
// In a build with the tag cuda, Use gives the context of a fake GPU: a libcuda.so.1 of our own (fake/, in C), in which
// streams are threads and device memory is shared memory, so that copies, waits, handles between processes and the death
// of one of them are real. With the tags cuda and gpu it is the machine's own GPU. Environment variables named FAKE_CUDA_…
// make it another GPU or a slow one; fake/fake.h lists them. They are read when a context is opened.
package cudatest

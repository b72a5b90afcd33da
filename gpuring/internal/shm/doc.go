// Package shm holds what a ring needs from the kernel: files in shared memory that are reserved before
// they are mapped, 64-bit words in them that are only touched atomically, and byte locks that the kernel
// drops when their process ends. It is the only package of the ring that uses unsafe.
package shm

// Package nvml is what NVIDIA's management library says of the GPUs: memory by process, PCIe traffic, MIG, compute mode.
//
// It is the one place that uses github.com/NVIDIA/go-nvml. Everything here compiles and runs on any machine: with the build
// tag cuda the library (libnvidia-ml.so.1) is looked up by the first Open; without the tag, without the library or
// without a driver, Open says which of these it is. What a driver or a GPU does not know is ErrNotSupported.
package nvml

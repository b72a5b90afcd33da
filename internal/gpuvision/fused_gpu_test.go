//go:build gpu

package gpuvision

// fused tells whether the kernels fuse products and sums.
const fused = true

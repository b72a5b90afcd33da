// Package goldentest runs the public models on every registered backend and compares with published results.
// It holds tests only.
package goldentest

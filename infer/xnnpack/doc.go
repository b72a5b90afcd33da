// Package xnnpack runs graphs on the CPU with XNNPACK.
package xnnpack

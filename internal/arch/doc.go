// Package arch tests the rules of ARCHITECTURE.md that the compiler does not know.
package arch

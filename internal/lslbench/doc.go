// Package lslbench measures what Lab Streaming Layer outlets cost the process that has them: a sender on one thread of Go,
// or the real liblsl, and readers in a process of their own, over loopback.
package lslbench

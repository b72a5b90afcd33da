package clock

import (
	"os"
	"strings"
	"sync"
)

// Epoch names what CLOCK_MONOTONIC counts from: it is another one after each boot, and in each time namespace. All processes that read the
// same clock have the same. "" where the system does not tell.
var Epoch = sync.OnceValue(func() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/time")
	if err != nil { // a kernel without time namespaces has one clock
		return strings.TrimSpace(string(boot))
	}
	return strings.TrimSpace(string(boot)) + " " + space
})

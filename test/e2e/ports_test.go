//go:build e2e

package e2e

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
)

var lastPort atomic.Int64

// freePort finds a TCP port on loopback that nobody uses now. It is none of those that the kernel gives to the ends of
// connections, so that it stays free until a server takes it, and no other test gets it.
func freePort(t *testing.T) int {
	t.Helper()
	const first, count = 20000, 12000
	for range count {
		port := first + (os.Getpid()*37+int(lastPort.Add(1)))%count
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		_ = l.Close()
		return port
	}
	t.Fatal("no free port")
	return 0
}

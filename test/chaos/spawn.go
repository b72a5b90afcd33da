package main

import (
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// spawn starts a process that ends with this one; what it ended with comes over the channel.
func spawn(cmd *exec.Cmd) (end chan error, err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	started, end := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the signal is sent when the thread ends that started the process
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			end <- cmd.Wait()
		}
	}()
	return end, <-started
}

// dialTCP connects to a port of this host.
func dialTCP(port int) (net.Conn, error) {
	return net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
}

// freePort finds a port that nobody uses now, below those that the kernel gives to the ends of connections.
func freePort(from int) (int, error) {
	for port := from; port < from+2000; port++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no free port from %d on", from)
}

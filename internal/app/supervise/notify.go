package supervise

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"strings"
)

// notifySocket receives the sd_notify messages of one child.
type notifySocket struct {
	*net.UnixConn
	name string
}

// listenNotify opens a socket in the abstract name space, so that nothing is left in the file system.
func listenNotify() (*notifySocket, error) {
	name := fmt.Sprintf("@facetrack-%d-%s", os.Getpid(), rand.Text())
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("readiness socket: %w", err)
	}
	return &notifySocket{conn, name}, nil
}

// wait hands every variable that arrives to hear until end is called.
func (s *notifySocket) wait(hear func(name, value string)) {
	buf := make([]byte, 4096)
	for {
		n, err := s.Read(buf)
		if err != nil {
			return
		}
		for line := range strings.Lines(string(buf[:n])) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			if name == endVariable {
				return
			}
			hear(name, value)
		}
	}
}

// endVariable is queued behind everything that the child has sent.
const endVariable = "X_FACETRACK_END"

// end makes wait return once it has read all that was sent so far.
func (s *notifySocket) end() {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.name, Net: "unixgram"})
	if err == nil {
		_, err = conn.Write([]byte(endVariable + "=1"))
		_ = conn.Close()
	}
	if err != nil {
		_ = s.Close()
	}
}

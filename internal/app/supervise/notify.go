package supervise

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net"
	"os"
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

// wait calls ready for each READY=1, and status for each STATUS=, until end is called.
func (s *notifySocket) wait(ready func(), status func(string)) {
	buf := make([]byte, 4096)
	for {
		n, err := s.Read(buf)
		if err != nil {
			return
		}
		for line := range bytes.Lines(buf[:n]) {
			line = bytes.TrimSpace(line)
			if string(line) == endMark {
				return
			}
			if text, ok := bytes.CutPrefix(line, []byte("STATUS=")); ok {
				status(string(text))
			} else if string(line) == "READY=1" {
				ready()
			}
		}
	}
}

// endMark is queued behind everything that the child has sent.
const endMark = "X_FACETRACK_END=1"

// end makes wait return once it has read all that was sent so far.
func (s *notifySocket) end() {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.name, Net: "unixgram"})
	if err == nil {
		_, err = conn.Write([]byte(endMark))
		_ = conn.Close()
	}
	if err != nil {
		_ = s.Close()
	}
}

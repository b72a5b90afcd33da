package supervise

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"
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
	s := &notifySocket{conn, name}
	if err := s.askWho(); err != nil {
		return nil, errors.Join(fmt.Errorf("readiness socket: %w", err), conn.Close())
	}
	return s, nil
}

// askWho has the kernel say with each message whose it is: abstract names are listed for all users, and have no mode.
func (s *notifySocket) askWho() error {
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1) })
	return errors.Join(err, failed)
}

// ours tells a message of this user's processes from those of others.
func ours(control []byte) bool {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return false
	}
	for i := range messages {
		if who, err := unix.ParseUnixCredentials(&messages[i]); err == nil {
			return int(who.Uid) == os.Getuid()
		}
	}
	return false
}

// wait hands every variable that arrives to hear until end is called.
func (s *notifySocket) wait(hear func(name, value string)) {
	buf, control := make([]byte, 4096), make([]byte, unix.CmsgSpace(unix.SizeofUcred))
	for {
		n, c, _, _, err := s.ReadMsgUnix(buf, control)
		if err != nil {
			return
		}
		if !ours(control[:c]) {
			continue
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

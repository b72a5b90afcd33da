package supervise

import (
	"net"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func send(t *testing.T, s *notifySocket, text string) {
	t.Helper()
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// asNobody runs do on a thread that is another user's, and that ends with it.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	done := make(chan unix.Errno)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread is not used again
		const nobody = 65534
		_, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody)
		if errno == 0 {
			do()
		}
		done <- errno
	}()
	if errno := <-done; errno != 0 {
		t.Fatal(errno)
	}
}

// The socket's name is listed for everybody: what other users send is not heard.
func TestNotifySocketHearsItsOwnUserAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: needs root, to send as another user")
	}
	s, err := listenNotify()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	asNobody(t, func() {
		send(t, s, "READY=1\nX_FROM=a stranger")
		send(t, s, endVariable+"=1")
	})
	send(t, s, "STATUS=ours")
	s.end()
	var heard []string
	s.wait(func(name, value string) { heard = append(heard, name+"="+value) })
	if len(heard) != 1 || heard[0] != "STATUS=ours" {
		t.Errorf("heard %q", heard)
	}
}

package app

import (
	"context"
	"fmt"
	"os/signal"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"facetrack/internal/auth"
)

// After a full disk the embedded server stores again, and who waits for changes hears of them, without anybody starting it again.
func TestServerStoresAgainAfterAFullDisk(t *testing.T) {
	for name, dir := range map[string]string{"without credentials": "", "with credentials": credentials(t)} {
		t.Run(name, func(t *testing.T) { storesAgain(t, dir) })
	}
}

func storesAgain(t *testing.T, credentials string) {
	s, said := guarded(t, credentials, "127.0.0.1:-1")
	nc, err := dial(s.url(), t.Name(), auth.Up, auth.Access{Credentials: credentials}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	bucket, err := openBucket(t.Context(), nc.Conn, "lab", auth.Up)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.Put(t.Context(), "before", "full"); err != nil {
		t.Fatal(err)
	}
	put := func(key, value string) error { // a stream that cannot be written does not answer
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := bucket.Put(ctx, key, value)
		return err
	}
	lift := limitFiles(t, 1<<20) // the test's own log is a file, too
	begin := time.Now()
	for i := 0; put(fmt.Sprintf("meanwhile.%d", i), strings.Repeat("x", 20_000)) == nil; i++ {
		if time.Since(begin) > deadline {
			t.Fatal("the disk is not full")
		}
	}
	lift()
	for begin = time.Now(); ; {
		err := put("after", "full")
		if err == nil {
			break
		}
		if time.Since(begin) > deadline {
			t.Fatalf("nothing is stored after the disk was full: %v; it said\n%s", err, said)
		}
	}
	for _, key := range []string{"before", "after"} {
		var value string
		if _, err := bucket.Get(t.Context(), key, &value); err != nil || value != "full" {
			t.Errorf("%s: %q, %v", key, value, err)
		}
	}
	if text := said.String(); !strings.Contains(text, "cannot store") || !strings.Contains(text, "stores the rig's state again") {
		t.Errorf("it said\n%s", text)
	}
}

// limitFiles lets no file of this process grow beyond a size until lift is called: a disk that is full.
func limitFiles(t *testing.T, size uint64) (lift func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(unix.SIGXFSZ)
	lift = func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(lift)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	return lift
}

package app

import (
	"context"
	"log/slog"
	"os/signal"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"

	"facetrack/internal/config"
	"facetrack/ipc"
)

// After a full disk the embedded server stores again, and who waits for changes hears of them, without anybody starting it again.
func TestServerStoresAgainAfterAFullDisk(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir, cfg.NATS.Listen = t.TempDir(), "127.0.0.1:-1"
	said := &lines{}
	s, err := startBus(t.Context(), cfg, slog.New(slog.NewTextHandler(said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}()
	nc, err := ipc.Connect(s.ClientURL(), t.Name(), quiet, nats.Timeout(deadline))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	bucket, err := openBucket(t.Context(), nc.Conn, "lab", "")
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
	lift := limitFiles(t, 8<<10)
	begin := time.Now()
	for put("meanwhile", strings.Repeat("x", 1000)) == nil {
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

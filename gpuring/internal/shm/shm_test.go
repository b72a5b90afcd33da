package shm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestExplain(t *testing.T) {
	for _, c := range []struct {
		code unix.Errno
		cure string
		full bool
	}{
		{unix.ENOENT, "mount -t tmpfs tmpfs /rings", false},
		{unix.EROFS, "mount -o remount,rw /rings", false},
		{unix.EACCES, "chmod 1777 /rings", false},
		{unix.ENOSPC, "needs 3 MiB in /rings and has less", true},
		{unix.ENOMEM, "use fewer slots", true},
		{unix.EOPNOTSUPP, "as /dev/shm", false},
	} {
		err, full := Explain(fmt.Errorf("reserve: %w", c.code), "/rings", 2<<20+1)
		if !errors.Is(err, c.code) || !strings.Contains(err.Error(), c.cure) || full != c.full {
			t.Errorf("%v: %v, full %v; want %q, %v", c.code, err, full, c.cure, c.full)
		}
	}
	other := errors.New("other")
	if err, _ := Explain(other, "/rings", 1); err != other { //nolint:errorlint // the very same
		t.Errorf("an unknown error became %v", err)
	}
}

func create(t *testing.T, path string) *os.File {
	t.Helper()
	f, ok, err := Create(path, NoGroup)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	a := create(t, path)
	b, _, err := Open(path, NoGroup)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	expect := func(what string, want bool, f func(*os.File, int64) (bool, error), file *os.File, at int64) {
		t.Helper()
		if got, err := f(file, at); err != nil || got != want {
			t.Errorf("%s: %v, error %v; want %v", what, got, err, want)
		}
	}
	expect("the maker has the owner lock", true, Locked, b, OwnerByte)
	expect("… and others cannot take it", false, TryLock, b, OwnerByte)
	expect("one's own lock is not another's", false, Locked, a, OwnerByte)
	expect("other bytes are free", true, TryLock, b, 7)
	expect("a lock is seen", true, Locked, a, 7)
	if err := Unlock(b, 7); err != nil {
		t.Error(err)
	}
	expect("a lock given back", false, Locked, a, 7)

	if err := Reserve(a, 4096); err != nil {
		t.Fatal(err)
	}
	m, err := MapFile(a, 4096, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	expect("a mapping keeps the lock", true, Locked, b, OwnerByte)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	expect("no descriptor, no mapping, no lock", false, Locked, b, OwnerByte)
}

func TestMap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f := create(t, path)
	if err := Reserve(f, 4096); err != nil {
		t.Fatal(err)
	}
	m, err := MapFile(f, 4096, true)
	if err != nil {
		t.Fatal(err)
	}
	m.Word(2).Store(0x0807060504030201)
	if b := m.Bytes(17, 3); b[0] != 2 || b[2] != 4 || cap(b) != 3 {
		t.Errorf("bytes %v, capacity %d", b, cap(b))
	}
	for range 2 {
		if err := m.Detach(); err != nil {
			t.Error(err)
		}
		if got := m.Word(2).Load(); got != 0x0807060504030201 {
			t.Errorf("after Detach the word is %#x", got)
		}
	}
	if content, err := os.ReadFile(path); err != nil || content[16] != 1 {
		t.Errorf("file %v, error %v", content[16:24], err)
	}
	if err := MoveNew(path, path+"2"); err != nil || !IsAt(f, path+"2") || IsAt(f, path) {
		t.Errorf("moved: %v", err)
	}
	create(t, path)
	if err := MoveNew(path, path+"2"); !errors.Is(err, unix.EEXIST) {
		t.Errorf("moved onto another file: %v", err)
	}
}

//go:build cuda

package cuda_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
)

func mapping(t *testing.T, bytes int) []byte {
	t.Helper()
	mem, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
	check(t, err)
	t.Cleanup(func() { check(t, unix.Munmap(mem)) })
	return mem
}

// exports is what a process tells another of its memory.
type exports struct {
	GPU           string
	Memory, Event cuda.Handle
}

const (
	exportsVariable = "CUDA_TEST_EXPORTS"
	shared          = 5 << 20
	wordAt          = shared
)

// TestImporter is the other process of TestTwoProcesses.
func TestImporter(t *testing.T) {
	text := os.Getenv(exportsVariable)
	if text == "" {
		t.Skip("runs as a child of TestTwoProcesses")
	}
	var x exports
	check(t, json.Unmarshal([]byte(text), &x))
	c := cudatest.Use(t)
	u := must[cuda.UUID](t)(cuda.ParseUUID(x.GPU))
	if d := must[cuda.Device](t)(cuda.DeviceByUUID(u)); d.UUID != c.Device().UUID {
		t.Fatalf("the GPU %s is not the one that is opened", x.GPU)
	}
	m := must[*cuda.Memory](t)(c.Import(x.Memory))
	again := must[*cuda.Memory](t)(c.Import(x.Memory))
	if again.Address() != m.Address() || (m.Bytes() != 0 && m.Bytes() < shared+8) {
		t.Errorf("imported twice: %x and %x, %d bytes", m.Address(), again.Address(), m.Bytes())
	}
	check(t, again.Close())
	e := must[*cuda.Event](t)(c.ImportEvent(x.Event))
	s := stream(t, c)
	back := pinned(t, c, shared)

	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	check(t, s.Wait(e), s.Download(back.Bytes(), m.Address()), s.Synchronize())
	if !bytes.Equal(back.Bytes(), pattern(shared, 6)) {
		t.Error("the importer reads other bytes than the exporter wrote before the event")
	}
	check(t, s.Fill(m.Address()+wordAt, 0x11, 8), s.Synchronize(), e.Close(), m.Close(), m.Close())
}

func TestTwoProcesses(t *testing.T) {
	c := cudatest.Use(t)
	m, s, host := memory(t, c, shared+8), stream(t, c), pinned(t, c, shared)
	e := must[*cuda.Event](t)(c.NewEvent(cuda.EventOptions{Interprocess: true}))
	defer e.Close()
	check(t, s.Record(e), s.Synchronize())
	x := exports{GPU: c.Device().ID(), Memory: must[cuda.Handle](t)(m.Handle()), Event: must[cuda.Handle](t)(e.Handle())}
	text := must[[]byte](t)(json.Marshal(x))

	child := exec.Command(os.Args[0], "-test.run=^TestImporter$", "-test.v")
	child.Env = append(os.Environ(), exportsVariable+"="+string(text))
	child.Stderr = os.Stderr
	in, out := must[io.WriteCloser](t)(child.StdinPipe()), must[io.ReadCloser](t)(child.StdoutPipe())
	check(t, child.Start())
	lines := bufio.NewScanner(out)
	var log bytes.Buffer
	for lines.Scan() {
		log.WriteString(lines.Text() + "\n")
		if lines.Text() == "ready" {
			copy(host.Bytes(), pattern(shared, 6))
			check(t, s.Upload(m.Address(), host.Bytes()), s.Record(e))
			_, err := in.Write([]byte("\n"))
			check(t, err)
		}
	}
	if err := child.Wait(); err != nil {
		t.Fatalf("the importer: %v\n%s", err, log.String())
	}
	check(t, s.Download(host.Bytes()[:8], m.Address()+wordAt), s.Synchronize())
	if !bytes.Equal(host.Bytes()[:8], bytes.Repeat([]byte{0x11}, 8)) {
		t.Errorf("the importer's write is not seen: %x", host.Bytes()[:8])
	}
}

func TestHandlesThatCannotBeImported(t *testing.T) {
	c := cudatest.Use(t)
	m := memory(t, c, 1)
	own := must[cuda.Handle](t)(m.Handle())
	corrupt := own
	for i := range corrupt {
		corrupt[i] ^= 0x5a
	}
	for name, h := range map[string]cuda.Handle{"one's own": own, "zeros": {}, "corrupt": corrupt} {
		var e *cuda.Error
		if _, err := c.Import(h); !errors.As(err, &e) || e.Call != "cuIpcOpenMemHandle" {
			t.Errorf("memory, %s: %v", name, err)
		}
	}
	if _, err := c.Import(own); !errors.Is(err, cuda.InvalidContext) {
		t.Errorf("one's own: %v", err)
	}
	var e *cuda.Error
	if _, err := c.ImportEvent(corrupt); !errors.As(err, &e) || e.Call != "cuIpcOpenEventHandle" {
		t.Errorf("event: %v", err)
	}
	event := must[*cuda.Event](t)(c.NewEvent(cuda.EventOptions{}))
	defer event.Close()
	if _, err := event.Handle(); err == nil {
		t.Error("an event that is not for other processes is exported")
	}
}

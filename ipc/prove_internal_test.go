package ipc

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"facetrack/gpuring"
)

// pretender is a writer that says it has device memory; what is written into it for proofs is kept.
type pretender struct {
	gpuring.Writer
	memory *gpuring.DeviceMemory
	proofs [][challengeBytes]byte
	fail   error
}

func (p *pretender) Device() *gpuring.DeviceMemory { return p.memory }

func (p *pretender) Descriptor() gpuring.Descriptor {
	d := p.Writer.Descriptor()
	d.Device = p.memory
	return d
}

func (p *pretender) WriteProof(challenge [challengeBytes]byte) (int, error) {
	p.proofs = append(p.proofs, challenge)
	return 3, p.fail
}

func pretend() *pretender {
	return &pretender{memory: &gpuring.DeviceMemory{GPU: "GPU-00000000-0000-0000-0000-000000000001", Bytes: 1 << 21, PID: 1}}
}

func (p *pretender) wrap(w gpuring.Writer) gpuring.Writer {
	p.Writer = w
	return p
}

func TestServerWritesProofs(t *testing.T) {
	p := pretend()
	l, _ := startPair(t, p.wrap, LinkOptions{})
	reply, err := l.request(t.Context(), opAttach, "none")
	if err != nil || reply.offered(CUDAIPC) != nil || reply.Ring.Device == nil || reply.Ring.Device.GPU != p.memory.GPU {
		t.Fatalf("%+v, %v", reply, err)
	}
	r := l.attachRequest(opProve, "none")
	r.Challenge = strings.Repeat("0aF9", 32)
	if reply, err = l.ask(t.Context(), r); err != nil || reply.Cell != 3 || reply.Ring.Device == nil {
		t.Fatalf("%+v, %v", reply, err)
	}
	if len(p.proofs) != 1 || p.proofs[0][0] != 0x0a || p.proofs[0][63] != 0xf9 {
		t.Errorf("written %x", p.proofs)
	}
}

func TestServerRefusesBadProofs(t *testing.T) {
	p := pretend()
	l, _ := startPair(t, p.wrap, LinkOptions{})
	subject := Subject("lab", "cam", KindRing)
	for _, challenge := range []string{"", "00", strings.Repeat("0", 127), strings.Repeat("0", 130), strings.Repeat("zz", 64), strings.Repeat("é", 64)} {
		data, err := json.Marshal(AttachRequest{Op: opProve, Identity: "i", Session: "none", Challenge: challenge})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := l.nc.Request(subject, data, l.opts.Timeout)
		if err != nil {
			t.Fatal(err)
		}
		if reply, err := DecodeAttachReply(answer.Data); err != nil || reply.Error != "refused" || !strings.Contains(reply.Text, "challenge") {
			t.Errorf("%q: %+v, %v", challenge, reply, err)
		}
	}
	if len(p.proofs) != 0 {
		t.Errorf("written %x", p.proofs)
	}
	p.fail = gpuring.ErrDevice
	r := l.attachRequest(opProve, "none")
	r.Challenge = strings.Repeat("00", 64)
	if _, err := l.ask(t.Context(), r); !errors.Is(err, errRefused) {
		t.Errorf("a proof that cannot be written: %v", err)
	}
}

func TestHostRingProvesNothing(t *testing.T) {
	for _, w := range []struct {
		what string
		wrap func(gpuring.Writer) gpuring.Writer
	}{{"a host writer", plainWriter}, {"a device writer without memory", (&pretender{}).wrap}} {
		l, _ := startPair(t, w.wrap, LinkOptions{})
		r := l.attachRequest(opProve, "none")
		r.Challenge = strings.Repeat("00", 64)
		if _, err := l.ask(t.Context(), r); !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "capture has no CUDA device") {
			t.Errorf("%s: %v", w.what, err)
		}
	}
}

// attempt returns what the link says of cuda-ipc once it has leased f over another transport.
func attempt(t *testing.T, l *Link, f Frame) string {
	t.Helper()
	leaseAll(t, l, f, 1)
	s := l.Status()
	if s.Transport != SHM || len(s.Attempts) != 1 || s.Attempts[0].Transport != CUDAIPC {
		t.Fatalf("status %+v", s)
	}
	return s.Attempts[0].Reason
}

func TestSwitchedOff(t *testing.T) {
	l, f := startPair(t, pretend().wrap, LinkOptions{GPU: "off"})
	if got := attempt(t, l, f); !strings.Contains(got, "cuda.gpu") {
		t.Error(got)
	}
}

func TestNotAllowed(t *testing.T) {
	l, f := startPair(t, pretend().wrap, LinkOptions{Allow: []Transport{SHM}})
	if got := attempt(t, l, f); got != "not allowed by this process's configuration" {
		t.Error(got)
	}
}

package cuda

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestHandleText(t *testing.T) {
	var h Handle
	for i := range h {
		h[i] = byte(3 * i)
	}
	text, err := json.Marshal(map[string]Handle{"memory_handle": h})
	if err != nil || !strings.HasPrefix(string(text), `{"memory_handle":"AAMGCQwP`) {
		t.Fatalf("%s %v", text, err)
	}
	var back map[string]Handle
	if err := json.Unmarshal(text, &back); err != nil || back["memory_handle"] != h {
		t.Errorf("%v %v, want what was written", back, err)
	}
	one := string(text[len(`{"memory_handle":"`) : len(text)-2])
	for name, bad := range map[string]string{
		"empty": "", "short": one[:len(one)-4], "long": "AAAA" + one, "not base64": "*" + one[1:], "bits to spare": one[:len(one)-3] + "f==",
	} {
		h := h
		if err := h.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if h != back["memory_handle"] {
			t.Errorf("%s: changed the handle", name)
		}
	}
}

func TestUUIDText(t *testing.T) {
	u := UUID{0x1d, 0x5c, 0x83, 0xf0, 0xaa, 0x01, 0x4e, 0x2b, 0x90, 0x7f, 0, 1, 2, 3, 4, 0xff}
	const groups = "1d5c83f0-aa01-4e2b-907f-0001020304ff"
	if got := u.String(); got != "GPU-"+groups {
		t.Errorf("%s, want GPU-%s", got, groups)
	}
	if got := (Device{UUID: u, MIG: true}).ID(); got != "MIG-"+groups {
		t.Errorf("%s, want MIG-%s", got, groups)
	}
	for _, s := range []string{"GPU-" + groups, "MIG-" + groups, groups, strings.ToUpper("GPU-" + groups)} {
		if got, err := ParseUUID(s); err != nil || got != u {
			t.Errorf("%s: %v %v", s, got, err)
		}
	}
	for _, s := range []string{"", "GPU-", "auto", "0", groups[1:], groups + "0", strings.ReplaceAll(groups, "-", ""), "GPU-" + strings.Replace(groups, "1", "g", 1), groups[:8] + "_" + groups[9:]} {
		if got, err := ParseUUID(s); err == nil || got != (UUID{}) {
			t.Errorf("%q is read as %v", s, got)
		}
	}
}

func TestErrors(t *testing.T) {
	if err := failed("cuInit", 0); err != nil {
		t.Errorf("success is %v", err)
	}
	err := fmt.Errorf("attach: %w", failed("cuIpcOpenEventHandle", 205))
	if !errors.Is(err, MapFailed) || errors.Is(err, InvalidContext) {
		t.Errorf("%v is not told apart by its code", err)
	}
	const want = "attach: cuIpcOpenEventHandle: CUDA_ERROR_MAP_FAILED (205): the processes share neither /dev/shm nor the IPC namespace"
	if err.Error() != want {
		t.Errorf("%s, want %s", err, want)
	}
	for code, sticky := range map[Code]bool{700: true, 719: true, 716: true, 2: false, 205: false, 600: false, 999: false} {
		if e := (&Error{Call: "cuStreamSynchronize", Code: code}); e.Sticky() != sticky {
			t.Errorf("%d: sticky is %v", code, e.Sticky())
		}
	}
}

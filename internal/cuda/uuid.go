package cuda

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// UUID identifies a GPU (or a MIG instance) in every process; its text is "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx".
type UUID [16]byte

func (u UUID) String() string { return "GPU-" + u.groups() }

func (u UUID) groups() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// ID is the device's UUID as nvidia-smi writes it: "GPU-…", or "MIG-…" for a MIG instance.
func (d Device) ID() string {
	if d.MIG {
		return "MIG-" + d.UUID.groups()
	}
	return d.UUID.String()
}

// ParseUUID reads the text of a UUID, with "GPU-" or "MIG-" in front or neither.
func ParseUUID(s string) (UUID, error) {
	var u UUID
	text := strings.ToLower(s)
	text = strings.TrimPrefix(strings.TrimPrefix(text, "gpu-"), "mig-")
	groups := strings.Split(text, "-")
	raw, err := hex.DecodeString(strings.Join(groups, ""))
	if err != nil || len(raw) != len(u) || UUID(raw).groups() != text {
		return u, fmt.Errorf("%q is no UUID of a GPU: it looks like GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", s)
	}
	return UUID(raw), nil
}

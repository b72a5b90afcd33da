package lsl

import (
	"strings"
	"testing"
)

// testInfo returns a two-channel stream whose source id no other stream of the host has.
func testInfo(t testing.TB) StreamInfo {
	t.Helper()
	name := strings.NewReplacer("/", "-", "'", "").Replace(t.Name())
	return StreamInfo{
		Name: name, Type: "MoCap", ChannelCount: 2, NominalRate: 60, Format: Float32,
		SourceID: name + "-" + newUID(),
	}
}

// open returns an outlet that the test's end closes.
func open(t testing.TB, info StreamInfo, opts Options) *Outlet {
	t.Helper()
	o, err := NewOutlet(t.Context(), info, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return o
}

package config

import (
	"strings"
	"testing"
	"time"
)

func TestStoreIsOffAndLimited(t *testing.T) {
	s := Default().Store
	if s.Enabled || s.MaxAge() != 7*24*time.Hour || s.MaxBytes() != 4_000_000_000 || s.Keeps("landmarks") {
		t.Errorf("%+v", s)
	}
	if s.Enabled = true; !s.Keeps("landmarks") || s.Keeps("frame") {
		t.Errorf("%+v", s)
	}
	c, err := Parse("f.yaml", []byte("store: {enabled: true, max_age_h: 0, kinds: [landmarks, synchrony]}\n"))
	if err != nil || c.Store.MaxAge() != 0 || len(c.Store.Kinds) != 2 {
		t.Errorf("%+v, %v", c.Store, err)
	}
}

func TestErrorsOfTheStore(t *testing.T) {
	for text, want := range map[string]string{
		"store: {enabled: true, kinds: []}":     `store.kinds is "[]"; it must be a list of landmarks, tracks`,
		"store: {kinds: [landmarks, pixels]}":   `store.kinds is "pixels"; it must be one of ["landmarks"`,
		"store: {kinds: [tracks, end, tracks]}": `a list that has each once (tracks is there twice)`,
		"store: {max_gb: 0}":                    `store.max_gb is "0"; it must be 0.001 to 100000`,
		"store: {max_gb: 1e9}":                  `store.max_gb is "1e+09"; it must be`,
		"store: {max_age_h: -1}":                `store.max_age_h is "-1"; it must be 0 to 87600`,
		"store: {max_age_h: 0.001}":             `store.max_age_h is "0.001"; it must be 0.01 to 87600`,
		"store: {enable: true}":                 `unknown key "enable" (did you mean "enabled"?)`,
		"store: {max_age_h: two}":               "f.yaml line 1",
	} {
		if _, err := Parse("f.yaml", []byte(text+"\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	c := Default()
	c.Store.Enabled = true
	if err := CheckLive(Changes(Default(), c)); err == nil || !strings.Contains(err.Error(), "store.enabled needs a restart of facetrack up") {
		t.Error(err)
	}
}

package ipc_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"facetrack/ipc"
)

// The codec beside encoding/json, on one face with 478 points and 52 blendshapes, in the same run.

func benchmarkMessage() *ipc.Landmarks {
	m := testLandmarks(rand.New(rand.NewPCG(3, 4)), 1, 478)
	m.Faces[0].Appearance = nil
	return m
}

func BenchmarkEncode(b *testing.B) {
	m := benchmarkMessage()
	b.Run("ipc", func(b *testing.B) {
		buf := make([]byte, 0, 32<<10)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := m.AppendJSON(buf); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tracks", func(b *testing.B) {
		m := testTracks(rand.New(rand.NewPCG(1, 1)), 1)
		buf := make([]byte, 0, 64<<10)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := m.AppendJSON(buf); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(m); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	data, err := benchmarkMessage().AppendJSON(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("ipc", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ipc.DecodeLandmarks(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("peek", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ipc.PeekFrame(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	tracked := testTracks(rand.New(rand.NewPCG(1, 1)), 1)
	tracked.Faces[0].Raw = nil
	tracks, err := tracked.AppendJSON(nil)
	if err != nil {
		b.Fatal(err)
	}
	for name, read := range map[string]func() error{
		"tracks":                func() error { _, err := ipc.DecodeTracks(tracks); return err },
		"tracks-peek":           func() error { _, _, err := ipc.PeekTracks(tracks); return err },
		"tracks-without-points": func() error { _, err := ipc.DecodeTracksWithoutPoints(tracks); return err },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(tracks)))
			b.ReportAllocs()
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			var m ipc.Landmarks
			if err := json.Unmarshal(data, &m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json-points-left-raw", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			var m struct {
				Faces []struct {
					Points json.RawMessage `json:"points"`
				} `json:"faces"`
			}
			if err := json.Unmarshal(data, &m); err != nil {
				b.Fatal(err)
			}
		}
	})
}

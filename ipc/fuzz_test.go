package ipc_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"facetrack/ipc"
)

// fuzzDecoder checks every input that a decoder accepts: it is valid JSON, and once written again the message
// reads the same with the decoder and with encoding/json.
func fuzzDecoder[M any](f *testing.F, decode func([]byte) (M, error), seeds ...ipc.Message) {
	f.Helper()
	for _, m := range seeds {
		data, err := m.AppendJSON(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decode(data)
		if err != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("accepted invalid JSON: %q", data)
		}
		text, err := any(&m).(ipc.Message).AppendJSON(nil)
		if err != nil {
			t.Fatalf("accepted but cannot be written: %v", err)
		}
		again, err := decode(text)
		if err != nil {
			t.Fatalf("own text refused: %v: %s", err, text)
		}
		fixed, err := any(&again).(ipc.Message).AppendJSON(nil)
		if err != nil || string(fixed) != string(text) {
			t.Fatalf("not stable: %v\n%s\n%s", err, text, fixed)
		}
		var plain M
		if err := json.Unmarshal(text, &plain); err != nil {
			t.Fatalf("encoding/json: %v: %s", err, text)
		}
		other, err := any(&plain).(ipc.Message).AppendJSON(nil)
		if err != nil || string(other) != string(text) {
			t.Fatalf("encoding/json reads another message: %v\n%s\n%s", err, text, other)
		}
	})
}

func FuzzDecodeFrame(f *testing.F) {
	fuzzDecoder(f, ipc.DecodeFrame, ptr(testFrame()))
}

func FuzzDecodeDetections(f *testing.F) {
	fuzzDecoder(f, ipc.DecodeDetections, testDetections())
}

func FuzzDecodeLandmarks(f *testing.F) {
	fuzzDecoder(f, ipc.DecodeLandmarks, testLandmarks(rand.New(rand.NewPCG(1, 1)), 1, 3))
}

func FuzzDecodeTracks(f *testing.F) {
	m := testTracks(rand.New(rand.NewPCG(1, 1)), 1)
	m.Faces[0].Points, m.Faces[0].Raw.Points = m.Faces[0].Points[:2], m.Faces[0].Raw.Points[:2]
	oneEye := *m
	oneEye.Faces = []ipc.TrackedFace{{ID: 3, Gaze: &ipc.Gaze{Pitch: -4, Right: m.Faces[0].Gaze.Right}}}
	fuzzDecoder(f, ipc.DecodeTracks, m, &oneEye)
}

// FuzzDecodeTracksWithoutPoints checks that what a full reading accepts reads the same but for what is left out.
func FuzzDecodeTracksWithoutPoints(f *testing.F) {
	m := testTracks(rand.New(rand.NewPCG(1, 1)), 2)
	m.Faces[0].Points, m.Faces[0].Raw.Points, m.Faces[1].Points = m.Faces[0].Points[:2], m.Faces[0].Raw.Points[:2], nil
	m.Faces[1].Participant = "child"
	data, err := m.AppendJSON(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("{" + identity + `,"topology":"t","faces":[{"id":1,"box":[1,2,3,4],"pose":null,"raw":{"points":[[1,2,3]],"pose":null},"points":[]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		full, err := ipc.DecodeTracks(data)
		if err != nil {
			return
		}
		part, err := ipc.DecodeTracksWithoutPoints(data)
		if err != nil || !reflect.DeepEqual(part, withoutPoints(full)) {
			t.Fatalf("%v: %+v\nwant %+v", err, part, withoutPoints(full))
		}
	})
}

func FuzzDecodeEvent(f *testing.F) {
	fuzzDecoder(f, ipc.DecodeEvent, testEvent(), &ipc.Event{Camera: "c", Stage: "detect", Event: "x"})
}

func FuzzDecodeSynchrony(f *testing.F) {
	fuzzDecoder(f, ipc.DecodeSynchrony, testSynchrony(), &ipc.Synchrony{A: "cam0:1", B: "cam0:2"})
}

func FuzzDecodeDrop(f *testing.F) {
	fuzzDecoder(f, ipc.DecodeDrop, &ipc.Drop{Camera: "c", Stage: "detect", Reason: "stale", Seqs: []uint64{1, 2}})
}

func FuzzDecodeAck(f *testing.F) { fuzzDecoder(f, ipc.DecodeAck, &ipc.Ack{Camera: "c", Seq: 3}) }

func FuzzDecodeEnd(f *testing.F) {
	fuzzDecoder(f, ipc.DecodeEnd, &ipc.End{Camera: "c", LastSeq: 3, Reason: "end of file"})
}

// FuzzPeekFrame checks that the identity at the beginning of a message is the one a full reading finds.
func FuzzPeekFrame(f *testing.F) {
	for _, m := range []ipc.Message{testDetections(), ptr(testFrame())} {
		data, err := m.AppendJSON(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"faces":[],"ran":false,` + identity + `}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		full, err := ipc.DecodeDetections(data)
		if err != nil {
			if _, err := ipc.PeekFrame(data); err != nil {
				return // what is refused by both is of no interest
			}
			return
		}
		peeked, err := ipc.PeekFrame(data)
		if err != nil {
			t.Fatalf("peek refused what a decoder accepts: %v", err)
		}
		// a foreign producer may write these at the end, where peek does not look
		full.Ack, full.MediaNS = peeked.Ack, peeked.MediaNS
		if !reflect.DeepEqual(peeked, full.Frame) {
			t.Fatalf("peeked %+v, decoded %+v", peeked, full.Frame)
		}
	})
}

// FuzzPeekTracks checks that what a full reading accepts is peeked at alike.
func FuzzPeekTracks(f *testing.F) {
	m := testTracks(rand.New(rand.NewPCG(1, 1)), 2)
	m.Faces[0].Points, m.Faces[0].Raw.Points, m.Faces[1].Points, m.Faces[1].Raw = m.Faces[0].Points[:2], nil, nil, nil
	data, err := m.AppendJSON(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"faces":[{"pose":null,"id":3}],` + identity + `,"topology":"t"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		peeked, ids, peekErr := ipc.PeekTracks(data)
		full, err := ipc.DecodeTracks(data)
		if err != nil {
			return
		}
		want := make([]int, len(full.Faces))
		for i := range full.Faces {
			want[i] = full.Faces[i].ID
		}
		full.Ack, full.MediaNS = peeked.Ack, peeked.MediaNS // see FuzzPeekFrame
		if peekErr != nil || !reflect.DeepEqual(peeked, full.Frame) || !slices.Equal(ids, want) {
			t.Fatalf("%v: peeked %+v, %v; decoded %+v, %v", peekErr, peeked, ids, full.Frame, want)
		}
	})
}

// FuzzDecodeInvitation checks that what is accepted can be written and read again.
func FuzzDecodeInvitation(f *testing.F) {
	f.Add([]byte(`{"camera":"cam","ring":"lab-cam"}`))
	f.Add([]byte(`{"identity":"detect","error":"no"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if i, err := ipc.DecodeInvitation(data); err == nil {
			again(t, i, ipc.DecodeInvitation)
		}
		if a, err := ipc.DecodeArrival(data); err == nil {
			again(t, a, ipc.DecodeArrival)
		}
	})
}

func again[M comparable](t *testing.T, m M, decode func([]byte) (M, error)) {
	t.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := decode(data); err != nil || same != m {
		t.Fatalf("%+v, read again %+v, %v", m, same, err)
	}
}

package xdf

import (
	"bytes"
	"testing"
	"testing/synctest"

	"facetrack/lsl"
	"facetrack/xdf/xdftest"
)

// golden is a file of two streams, put together by hand from the specification: lengths counted, numbers written out.
const golden = "XDF:" +
	"\x01\x67" + "\x01\x00" + // file header: 2 + 101 bytes
	`<?xml version="1.0"?><info><version>1.0</version><datetime>2000-01-01T00:00:00+0000</datetime></info>` +

	"\x04\xfc\x01\x00\x00" + "\x02\x00" + "\x01\x00\x00\x00" + // stream header: 6 + 502 bytes
	`<?xml version="1.0"?>` + "\n" +
	`<info><name>gaze</name><type>Gaze</type><channel_count>2</channel_count><channel_format>int16</channel_format>` +
	`<source_id>g</source_id><nominal_srate>4</nominal_srate><version>1.10</version><created_at>0.000000000</created_at><uid></uid>` +
	`<session_id>default</session_id><hostname></hostname><v4address></v4address><v4data_port>0</v4data_port>` +
	`<v4service_port>0</v4service_port><v6address></v6address><v6data_port>0</v6data_port><v6service_port>0</v6service_port>` +
	`<desc></desc></info>` + "\n" +

	"\x04\xf9\x01\x00\x00" + "\x02\x00" + "\x02\x00\x00\x00" +
	`<?xml version="1.0"?>` + "\n" +
	`<info><name>mark</name><type></type><channel_count>1</channel_count><channel_format>string</channel_format>` +
	`<source_id>m</source_id><nominal_srate>0</nominal_srate><version>1.10</version><created_at>0.000000000</created_at><uid></uid>` +
	`<session_id>default</session_id><hostname></hostname><v4address></v4address><v4data_port>0</v4data_port>` +
	`<v4service_port>0</v4service_port><v6address></v6address><v6data_port>0</v6data_port><v6service_port>0</v6service_port>` +
	`<desc></desc></info>` + "\n" +

	"\x01\x16" + "\x04\x00" + "\x01\x00\x00\x00" + // clock offset: 6 + 16 bytes
	"\x00\x00\x00\x00\x00\x00\x24\x40" + "\x00\x00\x00\x00\x00\x00\xe0\xbf" + // at 10 s, -0.5 s

	"\x01\x1a" + "\x03\x00" + "\x01\x00\x00\x00" + "\x01\x02" + // samples: 6 + 2 + 13 + 5 bytes; two of them
	"\x08\x00\x00\x00\x00\x00\x00\x24\x40" + "\x01\x00\xfe\xff" + // 10 s: 1, -2
	"\x00" + "\x2c\x01\x00\x80" + // deduced: 300, -32768

	"\x01\x16" + "\x03\x00" + "\x02\x00\x00\x00" + "\x01\x01" + // 6 + 2 + 9 + 5 bytes; one sample
	"\x08\x00\x00\x00\x00\x00\x00\xf8\x3f" + "\x01\x03\x67\xc3\xbc" + // 1.5 s: "gü"

	"\x04\x05\x01\x00\x00" + "\x06\x00" + "\x01\x00\x00\x00" + // stream footer: 6 + 255 bytes
	`<?xml version="1.0"?><info><first_timestamp>10</first_timestamp><last_timestamp>10.25</last_timestamp>` +
	`<sample_count>2</sample_count><measured_srate>4</measured_srate>` +
	`<clock_offsets><offset><time>10</time><value>-0.5</value></offset></clock_offsets></info>` +

	"\x01\xd1" + "\x06\x00" + "\x02\x00\x00\x00" +
	`<?xml version="1.0"?><info><first_timestamp>1.5</first_timestamp><last_timestamp>1.5</last_timestamp>` +
	`<sample_count>1</sample_count><measured_srate>0</measured_srate><clock_offsets></clock_offsets></info>`

func TestGolden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where it is midnight, 2000-01-01
		var file bytes.Buffer
		w, err := NewWriter(&file, Options{})
		must(t, err)
		gaze, err := w.AddStream(lsl.StreamInfo{Name: "gaze", Type: "Gaze", ChannelCount: 2, NominalRate: 4, Format: lsl.Int16, SourceID: "g"})
		must(t, err)
		mark, err := w.AddStream(lsl.StreamInfo{Name: "mark", ChannelCount: 1, Format: lsl.String, SourceID: "m"})
		must(t, err)
		must(t, gaze.PushInt16(10, []int16{1, -2}))
		must(t, gaze.PushInt16(Deduced, []int16{300, -32768}))
		must(t, gaze.ClockOffset(10, -0.5))
		must(t, mark.PushString(1.5, "gü"))
		must(t, w.Close())

		got := file.String()
		for i := range min(len(got), len(golden)) {
			if got[i] != golden[i] {
				t.Fatalf("byte %d:\n%q\nwant\n%q", i, got[i:], golden[i:])
			}
		}
		if len(got) != len(golden) {
			t.Fatalf("%d bytes, want %d", len(got), len(golden))
		}
	})
}

// What is written by hand above has to be a file for the tests' reader too.
func TestReaderReadsGolden(t *testing.T) {
	r := xdftest.MustParse(t, []byte(golden))
	if len(r.Streams) != 2 || r.Streams[0].Samples[1] != (xdftest.Sample{Stamp: 10.25, Values: "300 -32768"}) || r.Streams[1].Samples[0] != (xdftest.Sample{Stamp: 1.5, Values: `"gü"`}) {
		t.Errorf("%+v %+v", r.Streams[0], r.Streams[1])
	}
}

func TestLengths(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "\x01\x00", 255: "\x01\xff", 256: "\x04\x00\x01\x00\x00", 1<<32 - 1: "\x04\xff\xff\xff\xff",
		1 << 32: "\x08\x00\x00\x00\x00\x01\x00\x00\x00", 1<<64 - 1: "\x08\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		if got := appendLength(nil, n); string(got) != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

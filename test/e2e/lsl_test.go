//go:build e2e

package e2e

import (
	"bufio"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"facetrack/internal/testmodels"
	"facetrack/lsl"
	"facetrack/vision"
)

// lslInfo is what a reader needs of a stream's description.
type lslInfo struct {
	Name     string `xml:"name"`
	UID      string `xml:"uid"`
	Channels int    `xml:"channel_count"`
	DataPort int    `xml:"v4data_port"`
	Labels   []struct {
		Label string `xml:"label"`
		Unit  string `xml:"unit"`
	} `xml:"desc>channels>channel"`
	CanDrop string `xml:"desc>synchronization>can_drop_samples"`
}

// resolve asks every service port of this host for a stream, as a reader with this host as known peer does.
func resolve(t *testing.T, query string) (lslInfo, bool) {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	text := fmt.Sprintf("LSL:shortinfo\r\n%s\r\n%d 7\r\n", query, conn.LocalAddr().(*net.UDPAddr).Port)
	for port := lsl.DefaultBasePort; port < lsl.DefaultBasePort+lsl.DefaultPortRange; port++ {
		_, _ = conn.WriteToUDP([]byte(text), &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}) // nobody there is fine
	}
	buf := make([]byte, 64<<10)
	if err := conn.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	n, err := conn.Read(buf)
	if err != nil {
		return lslInfo{}, false
	}
	_, doc, _ := strings.Cut(string(buf[:n]), "\r\n")
	return parseLSL(t, doc), true
}

func parseLSL(t *testing.T, doc string) (info lslInfo) {
	t.Helper()
	if err := xml.Unmarshal([]byte(doc), &info); err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	return info
}

func dialLSL(t *testing.T, info lslInfo, request string) *bufio.Reader {
	t.Helper()
	conn, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", info.DataPort))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(deadline)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	return bufio.NewReader(conn)
}

type lslSample struct {
	Stamp  float64
	Values []float32
}

// feed subscribes and skips the header and the two test patterns.
func feed(t *testing.T, info lslInfo) func() lslSample {
	t.Helper()
	r := dialLSL(t, info, "LSL:streamfeed/110 "+info.UID+"\r\nNative-Byte-Order: 1234\r\nHas-IEEE754-Floats: 1\r\nValue-Size: 4\r\n"+
		"Data-Protocol-Version: 110\r\nMax-Buffer-Length: 360\r\n\r\n")
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "\r\n" {
			break
		}
	}
	next := func() lslSample {
		tag, err := r.ReadByte()
		if err != nil || tag != 2 {
			t.Fatalf("tag %d, %v: every sample has its own stamp", tag, err)
		}
		s := lslSample{Values: make([]float32, info.Channels)}
		var stamp [8]byte
		if _, err := io.ReadFull(r, stamp[:]); err != nil {
			t.Fatal(err)
		}
		s.Stamp = math.Float64frombits(binary.LittleEndian.Uint64(stamp[:]))
		if err := binary.Read(r, binary.LittleEndian, s.Values); err != nil {
			t.Fatal(err)
		}
		return s
	}
	next()
	next()
	return next
}

// An LSL reader finds the participant's stream and gets each frame with its capture instant.
func TestLSLStream(t *testing.T) {
	r := prepare(t)
	r.up("--config", r.config(""), "--source", "synthetic:faces=1,fps=30", "--record", r.path("a.jsonl"))
	var info lslInfo
	r.eventually("the stream is found", func() (found bool) {
		info, found = resolve(t, fmt.Sprintf("session_id='default' and source_id='facetrack:%s:cam0:face:1'", r.name))
		return found
	})
	full, err := io.ReadAll(dialLSL(t, info, "LSL:fullinfo\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	described := parseLSL(t, string(full))
	if len(described.Labels) != info.Channels || info.Channels != 60 || described.CanDrop != "true" {
		t.Fatalf("%d channels, %d described, can_drop_samples %q", info.Channels, len(described.Labels), described.CanDrop)
	}
	for i, name := range vision.BlendshapeNames {
		if described.Labels[i].Label != name || described.Labels[i].Unit != "normalized" {
			t.Errorf("channel %d is %v, want %s", i, described.Labels[i], name)
		}
	}
	next := feed(t, info)
	samples := map[uint64]lslSample{}
	for len(samples) < 30 {
		s := next()
		samples[uint64(s.Values[59])] = s
	}
	r.interrupt()
	r.mustEnd()
	compared := 0
	for _, m := range tracks(t, r.path("a.jsonl")) {
		s, ok := samples[m.Seq]
		if !ok {
			continue
		}
		compared++
		if s.Stamp != lsl.Seconds(m.CaptureNS) {
			t.Errorf("frame %d is stamped %v, captured at %d ns", m.Seq, s.Stamp, m.CaptureNS)
		}
		if len(m.Faces) == 0 {
			if s.Values[58] != 0 || !math.IsNaN(float64(s.Values[0])) {
				t.Errorf("frame %d shows nobody: confidence %v, first value %v", m.Seq, s.Values[58], s.Values[0])
			}
			continue
		}
		if math.Abs(float64(s.Values[10])-testmodels.Blendshape(10)) > 1e-3 || s.Values[58] < 0.9 ||
			math.Abs(float64(s.Values[53])-m.Faces[0].Pose.Yaw) > 0.01 {
			t.Errorf("frame %d: %v, tracks say %+v", m.Seq, s.Values, m.Faces[0].Pose)
		}
	}
	if compared < 25 {
		t.Errorf("only %d samples are in the recording", compared)
	}
}

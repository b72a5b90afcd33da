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
	"os"
	"strings"
	"testing"
	"time"

	"facetrack/internal/testmodels"
	"facetrack/ipc"
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

// find waits for a stream and reads its description.
func (r *rig) find(sourceID string) (info lslInfo) {
	r.t.Helper()
	host, err := os.Hostname()
	if err != nil {
		r.t.Fatal(err)
	}
	r.eventually("stream "+sourceID+" is found", func() (found bool) {
		info, found = resolve(r.t, fmt.Sprintf("session_id='default' and source_id='facetrack:%s:%s:%s'", host, r.name, sourceID))
		return found
	})
	full, err := io.ReadAll(dialLSL(r.t, info, "LSL:fullinfo\r\n"))
	if err != nil {
		r.t.Fatal(err)
	}
	described := parseLSL(r.t, string(full))
	if len(described.Labels) != info.Channels || described.CanDrop != "true" {
		r.t.Fatalf("%s: %d channels, %d described, can_drop_samples %q", info.Name, info.Channels, len(described.Labels), described.CanDrop)
	}
	info.Labels = described.Labels
	return info
}

// collect reads n frames of a stream, by the number that is last in each row.
func collect(t *testing.T, info lslInfo, n int) map[uint64]lslSample {
	t.Helper()
	next, samples := feed(t, info), map[uint64]lslSample{}
	for len(samples) < n {
		s := next()
		samples[uint64(s.Values[info.Channels-1])] = s
	}
	return samples
}

// An LSL reader finds the streams of whoever comes to a camera and gets each frame at its capture instant.
func TestLSLStream(t *testing.T) {
	r := prepare(t)
	r.up("--config", r.config(""), "--source", "synthetic:faces=1,fps=30", "--record", r.path("a.jsonl"))
	expression, head := r.find("cam0:face:1:expression"), r.find("cam0:face:1:head")
	if expression.Channels != 54 || head.Channels != 12 {
		t.Fatalf("%d and %d channels", expression.Channels, head.Channels)
	}
	for i, name := range append(vision.BlendshapeNames[:], "Confidence") {
		if expression.Labels[i].Label != name || expression.Labels[i].Unit != "normalized" {
			t.Errorf("channel %d is %v, want %s", i, expression.Labels[i], name)
		}
	}
	const heading = 8
	if l := head.Labels[heading]; l.Label != "headHeading" || l.Unit != "degrees" {
		t.Errorf("channel %d of the head is %v", heading, l)
	}
	faces, heads := collect(t, expression, 30), collect(t, head, 30)
	r.interrupt()
	r.mustEnd()
	compared := map[string]int{}
	for _, m := range tracks(t, r.path("a.jsonl")) {
		if s, ok := faces[m.Seq]; ok {
			compared["expression"]++
			checkSample(t, m, s, 10, testmodels.Blendshape(10))
		}
		if s, ok := heads[m.Seq]; ok && len(m.Faces) > 0 {
			compared["head"]++
			checkSample(t, m, s, heading, m.Faces[0].Pose.Yaw)
			if x := float64(s.Values[0]); !math.IsNaN(x) {
				t.Errorf("frame %d: the field of view is not known, and the head is at %v m", m.Seq, x)
			}
		}
	}
	if compared["expression"] < 25 || compared["head"] < 20 {
		t.Errorf("only %v samples are in the recording", compared)
	}
}

// checkSample compares a row with the tracks of its frame; value is that of a channel while somebody is there.
func checkSample(t *testing.T, m ipc.Tracks, s lslSample, channel int, value float64) {
	t.Helper()
	if s.Stamp != lsl.Seconds(m.CaptureNS) {
		t.Errorf("frame %d is stamped %v, captured at %d ns", m.Seq, s.Stamp, m.CaptureNS)
	}
	got, confidence := float64(s.Values[channel]), s.Values[len(s.Values)-2]
	switch {
	case len(m.Faces) == 0 && (confidence != 0 || !math.IsNaN(got)):
		t.Errorf("frame %d shows nobody: confidence %v, channel %d is %v", m.Seq, confidence, channel, got)
	case len(m.Faces) > 0 && (confidence < 0.9 || math.Abs(got-value) > 0.01):
		t.Errorf("frame %d: confidence %v, channel %d is %v, want %v", m.Seq, confidence, channel, got, value)
	}
}

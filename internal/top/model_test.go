package top

import (
	"strings"
	"testing"
	"time"

	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

func (m *Model) news1() string {
	if len(m.messages) == 0 {
		return ""
	}
	return m.messages[len(m.messages)-1].Text
}

func (m *Model) named(name string) *camera {
	for _, c := range m.cameras(byName) {
		if c.name == name {
			return c
		}
	}
	return nil
}

func TestRatesAreOfTheLastInterval(t *testing.T) {
	l, m := newLab(2), New("lab", "nats://here")
	m.Update(l.sample())
	if c := m.named("cam0"); c.in != unknown || c.out != unknown || c.faces != unknown || c.age.P99 != 12.3 {
		t.Errorf("rates of one answer: %+v", c)
	}
	m.Update(l.after(1).sample())
	c := m.named("cam1")
	if c.in != 30 || c.out != 30 || c.faces != 2 || c.losing || c.dropped != 0 {
		t.Errorf("cam1: %+v", c)
	}
	if got := m.cpu(); got < 14.99 || got > 15.01 {
		t.Errorf("CPU %v %%, want 15", got)
	}
	l.drop("detect", "cam1", "queue-full", 12).drop("capture", "cam1", "no-free-slot", 3).drop("lsl-out", "cam1", "queue-full", 99)
	m.Update(l.after(1).sample())
	c = m.named("cam1")
	if c.dropped != 15 || !c.losing || c.mainReason() != "detect queue-full" {
		t.Errorf("cam1: %+v; what was tracked is not dropped", c)
	}
	if !strings.Contains(m.messages[0].Text, "cam1: ") || len(m.messages) != 3 || !m.messages[0].Bad {
		t.Errorf("messages %+v", m.messages)
	}
	m.Update(l.drop("detect", "cam1", "queue-full", 5).after(1).sample())
	if len(m.messages) != 3 {
		t.Errorf("drops that go on are told again: %+v", m.messages)
	}
	m.Update(l.after(1).sample())
	if c := m.named("cam1"); c.losing || c.dropped != 20 {
		t.Errorf("cam1: %+v", c)
	}
}

func TestTheSameAnswerTwiceKeepsTheRates(t *testing.T) {
	l, m := newLab(1), New("lab", "")
	m.Update(l.sample())
	m.Update(l.after(1).sample())
	m.Update(l.sample())
	if c := m.named("cam0"); c.in != 30 || c.out != 30 {
		t.Errorf("cam0: %+v", c)
	}
}

func TestKilledStage(t *testing.T) {
	l, m := newLab(1), New("lab", "")
	m.Update(l.sample())
	l.dead["landmarks"] = true
	m.Update(l.after(1).sample())
	if m.news1() != "landmarks (process 4102) does not answer" {
		t.Errorf("message %q", m.news1())
	}
	if n, silent := m.answering(); n != 4 || len(silent) != 1 || silent[0] != "landmarks" {
		t.Errorf("%d answer, silent %v", n, silent)
	}
	if c := m.named("cam0"); len(c.links) != 2 {
		t.Errorf("what the dead process said last is forgotten: %+v", c)
	}
	m.Update(l.after(1).sample())
	if len(m.messages) != 1 {
		t.Errorf("messages %+v", m.messages)
	}
	m.Update(l.restart("landmarks", 5000).after(1).sample())
	if m.news1() != "landmarks was started again: process 5000 instead of 4102" || len(m.procs) != 5 {
		t.Errorf("message %q, %d processes", m.news1(), len(m.procs))
	}
	m.Update(l.restart("landmarks", 5001).after(1).sample()) // between two answers
	if m.news1() != "landmarks was started again: process 5001 instead of 5000" || m.procs[2].Restarts != 2 {
		t.Errorf("message %q, %+v", m.news1(), m.procs[2])
	}
}

// A process that was stopped for a while is the same one.
func TestStoppedProcessAnswersAgain(t *testing.T) {
	l, m := newLab(1), New("lab", "")
	m.Update(l.sample())
	l.dead["tracker"] = true
	m.Update(l.after(1).sample())
	l.dead["tracker"] = false
	m.Update(l.after(1).sample())
	if m.news1() != "tracker (process 4103) answers again" || len(m.procs) != 5 {
		t.Errorf("message %q, %d processes", m.news1(), len(m.procs))
	}
}

// Two processes of one stage, on two machines: the end of one is not a restart.
func TestTwoProcessesOfAStage(t *testing.T) {
	l, m := newLab(1), New("lab", "")
	other := *l.stats["capture"]
	other.PID, other.Cameras = 9, map[string]telemetry.CameraStats{"far": {State: "running"}}
	both := l.sample()
	both.Stats = append(both.Stats, other)
	m.Update(both)
	if len(m.procs) != 6 || len(m.cameras(byName)) != 2 {
		t.Fatalf("%d processes", len(m.procs))
	}
	m.Update(l.after(1).sample())
	if m.news1() != "capture (process 9) does not answer" {
		t.Errorf("message %q", m.news1())
	}
}

func TestLostCamera(t *testing.T) {
	l, m := newLab(1), New("lab", "")
	m.Update(l.sample())
	m.Update(l.after(1).state("cam0", "lost: no frame\nfor 3 s").sample())
	if m.news1() != "cam0: lost: no frame for 3 s" || m.named("cam0").stateWord() != "lost" || !m.messages[0].Bad {
		t.Errorf("messages %+v", m.messages)
	}
	m.Update(l.state("cam0", "running").after(1).sample())
	if m.news1() != "cam0: running" || m.messages[1].Bad {
		t.Errorf("messages %+v", m.messages)
	}
}

func TestServerAway(t *testing.T) {
	l, m := newLab(1), New("lab", "")
	m.Update(l.sample())
	m.Update(Sample{At: noon, Away: "the server is away"})
	m.Update(Sample{At: noon, Away: "the server is away"})
	if len(m.messages) != 1 || m.state().String() != "the server is away" || len(m.procs) != 5 {
		t.Errorf("messages %+v", m.messages)
	}
	m.Update(l.after(3).sample())
	if m.news1() != "the NATS server is there" || m.away != "" {
		t.Errorf("message %q", m.news1())
	}
}

func TestEvents(t *testing.T) {
	l, m := newLab(1), New("lab", "")
	m.Update(l.sample())
	event := func(value, reason string) string {
		before := len(m.messages)
		m.Hear(ipc.Event{Camera: "cam0", Stage: "detect", Event: ipc.EventTransport, Value: value, Reason: reason}, noon)
		if len(m.messages) == before {
			return ""
		}
		return m.news1()
	}
	for _, c := range []struct{ value, reason, want string }{
		{"shm", "as before", ""},
		{"", "capture is gone", "cam0: no pixels reach detect: capture is gone"},
		{"copy", "shm: not shared", "cam0: detect reads by copy: shm: not shared"},
		{"copy", "shm: not shared", ""},
		{"cuda-ipc", "the fastest", "cam0: detect reads by cuda-ipc: the fastest"},
	} {
		if got := event(c.value, c.reason); got != c.want {
			t.Errorf("%q: message %q, want %q", c.value, got, c.want)
		}
	}
	if m.messages[len(m.messages)-1].Bad || !m.messages[1].Bad {
		t.Errorf("messages %+v", m.messages)
	}
	m.Hear(ipc.Event{Camera: "cam0", Stage: "capture", Event: "future", Value: "x", Reason: "y"}, noon)
	if m.news1() != "cam0: capture: future x: y" {
		t.Errorf("message %q", m.news1())
	}
	for range 2 * memory {
		m.note(time.Time{}, false, "again")
	}
	if len(m.messages) != memory {
		t.Errorf("%d messages are kept", len(m.messages))
	}
}

func TestOrders(t *testing.T) {
	l, m := newLab(3), New("lab", "")
	m.Update(l.sample())
	c := l.stats["tracker"].Cameras["cam1"]
	c.Frames -= 20
	l.stats["tracker"].Cameras["cam1"] = c
	m.Update(l.drop("detect", "cam1", "queue-full", 20).after(1).sample())
	for by, want := range map[order]string{byName: "cam0 cam1 cam2", byDrops: "cam1 cam0 cam2", byLatency: "cam2 cam1 cam0", byRate: "cam1 cam0 cam2"} {
		var got []string
		for _, c := range m.cameras(by) {
			got = append(got, c.name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("by %s: %v, want %s", by, got, want)
		}
	}
}

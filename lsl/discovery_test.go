package lsl

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/ipv4"
)

func TestReaderFindsStreamOnServicePort(t *testing.T) {
	info := testInfo(t)
	info.NominalRate = 29.97
	before := Now()
	o := open(t, info, Options{LoopbackOnly: true, SessionID: "lab-2"})
	a := newAsker(t)
	service := loopback(o.ServicePort())

	a.ask("session_id='other'", service)
	a.ask("name='"+info.Name+"' and", service) // malformed
	id := a.ask("session_id='lab-2' and source_id='"+info.SourceID+"'", service)
	got, found, from := a.answer()
	if got != id {
		t.Errorf("answer to query %s, want only %s answered", got, id)
	}
	host, _ := os.Hostname()
	want := wireInfo{
		Name: info.Name, Type: "MoCap", ChannelCount: 2, Format: "float32", SourceID: info.SourceID, Rate: "29.97",
		Version: "1.10", CreatedAt: found.CreatedAt, UID: o.UID(), Session: "lab-2", Hostname: host,
		DataPort: o.TCPPort(), ServicePort: o.ServicePort(),
	}
	if found.Channels != nil || infoKey(found) != infoKey(want) {
		t.Errorf("short info %+v\nwant %+v", found, want)
	}
	if found.CreatedAt < before || found.CreatedAt > Now() {
		t.Errorf("created_at %v is not between %v and now", found.CreatedAt, before)
	}
	if from != service {
		t.Errorf("answer came from %v, want %v", from, service)
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(found.UID) {
		t.Errorf("uid %q is not a lower-case random UUID", found.UID)
	}
}

func infoKey(i wireInfo) string {
	return strings.Join([]string{
		i.Name, i.Type, strconv.Itoa(i.ChannelCount), i.Format, i.SourceID, i.Rate, i.Version, i.UID, i.Session, i.Hostname,
		strconv.Itoa(i.DataPort), strconv.Itoa(i.ServicePort), strconv.Itoa(i.DataPort6), strconv.Itoa(i.ServicePort6),
	}, "|")
}

func TestReaderProbesTime(t *testing.T) {
	o := open(t, testInfo(t), Options{LoopbackOnly: true})
	c := listenLoopback(t)
	_ = c.SetReadDeadline(time.Now().Add(patience))
	before := Now()
	if _, err := c.WriteToUDPAddrPort([]byte("LSL:timedata\r\n7 1234.5000\r\n"), loopback(o.ServicePort())); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1<<10)
	n, _, err := c.ReadFromUDPAddrPort(buf)
	if err != nil {
		t.Fatal(err)
	}
	after := Now()
	words := strings.Split(string(buf[:n]), " ")
	if len(words) != 5 || words[0] != "" || words[1] != "7" || words[2] != "1234.5000" {
		t.Fatalf("reply %q", buf[:n])
	}
	t1, err1 := strconv.ParseFloat(words[3], 64)
	t2, err2 := strconv.ParseFloat(words[4], 64)
	const rounding = 1e-9
	if errors.Join(err1, err2) != nil || t1 < before-rounding || t2 < t1 || t2 > after+rounding {
		t.Errorf("times %v %v are not in order between %v and %v", t1, t2, before, after)
	}
}

// TestReaderFindsStreamByMulticast asks on the loopback interface only; nothing leaves the host.
func TestReaderFindsStreamByMulticast(t *testing.T) {
	lo := loopbackInterface(t)
	if !multicastWorks(t, lo) {
		t.Skip("SKIPPED: this host delivers no multicast on its loopback interface")
	}
	info := testInfo(t)
	o := openShared(t, info)
	if o.Stats().Groups != 3 {
		t.Fatalf("joined %d groups on the loopback interface, want 3", o.Stats().Groups)
	}
	for _, group := range []string{"239.255.172.215", "224.0.0.183", "224.0.0.1"} {
		a := newAsker(t)
		if err := ipv4.NewPacketConn(a.out).SetMulticastInterface(lo); err != nil {
			t.Fatal(err)
		}
		id := a.ask("source_id='"+info.SourceID+"'", netip.AddrPortFrom(netip.MustParseAddr(group), 16571))
		if got, found, _ := a.answer(); got != id || found.UID != o.UID() {
			t.Errorf("%s: answer %s from stream %s", group, got, found.UID)
		}
	}
}

func TestReaderFindsStreamByBroadcast(t *testing.T) {
	info := testInfo(t)
	o := openShared(t, info)
	a := newAsker(t)
	id := a.ask("source_id='"+info.SourceID+"'", netip.MustParseAddrPort("127.255.255.255:16571"))
	if got, found, _ := a.answer(); got != id || found.UID != o.UID() {
		t.Errorf("answer %s from stream %s", got, found.UID)
	}
}

// openShared opens an outlet that hears the port which all LSL programs of the host share.
func openShared(t *testing.T, info StreamInfo) *Outlet {
	t.Helper()
	o := open(t, info, Options{LoopbackOnly: true})
	if o.lobby == nil {
		t.Skip("SKIPPED: another program keeps UDP port 16571 to itself")
	}
	return o
}

func loopbackInterface(t *testing.T) *net.Interface {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback != 0 && i.Flags&net.FlagUp != 0 {
			return &i
		}
	}
	t.Skip("SKIPPED: no loopback interface is up")
	return nil
}

// multicastWorks sends a datagram to a group on the interface and waits for it, without any of the outlet's code.
func multicastWorks(t *testing.T, on *net.Interface) bool {
	t.Helper()
	in, err := net.ListenPacket("udp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	group := net.IPv4(239, 255, 172, 215)
	if err := ipv4.NewPacketConn(in).JoinGroup(on, &net.UDPAddr{IP: group}); err != nil {
		return false
	}
	out := ipv4.NewPacketConn(listenLoopback(t))
	if err := out.SetMulticastInterface(on); err != nil {
		return false
	}
	port := in.LocalAddr().(*net.UDPAddr).Port
	if _, err := out.WriteTo([]byte("x"), nil, &net.UDPAddr{IP: group, Port: port}); err != nil {
		return false
	}
	_ = in.SetReadDeadline(time.Now().Add(5 * time.Second))
	_, _, err = in.ReadFrom(make([]byte, 8))
	return err == nil
}

func TestPortsOutsideATakenRange(t *testing.T) {
	// A range of one port which is taken for both protocols: the outlet has to move elsewhere.
	first := open(t, testInfo(t), Options{LoopbackOnly: true})
	second := open(t, testInfo(t), Options{LoopbackOnly: true, BasePort: first.TCPPort(), PortRange: 1})
	if second.TCPPort() == first.TCPPort() || second.TCPPort() == 0 {
		t.Errorf("TCP port %d beside %d", second.TCPPort(), first.TCPPort())
	}
	third := open(t, testInfo(t), Options{LoopbackOnly: true, BasePort: first.ServicePort(), PortRange: 1})
	if third.ServicePort() == first.ServicePort() || third.ServicePort() == 0 {
		t.Errorf("UDP port %d beside %d", third.ServicePort(), first.ServicePort())
	}
}

func TestLoopbackOnlyBindsLoopback(t *testing.T) {
	o := open(t, testInfo(t), Options{LoopbackOnly: true})
	for _, a := range []net.Addr{o.data.Addr(), o.service.conn.LocalAddr()} {
		if host, _, _ := net.SplitHostPort(a.String()); host != "127.0.0.1" {
			t.Errorf("%s socket bound to %s", a.Network(), host)
		}
	}
}

func TestNetworksServeAndHear(t *testing.T) {
	lo := loopbackInterface(t)
	remote := netip.MustParseAddr("198.51.100.7")
	open := networks{interfaces: []net.Interface{*lo}}
	closed := networks{interfaces: []net.Interface{*lo}, restricted: true}
	for _, c := range []struct {
		what      string
		got, want bool
	}{
		{"everyone reaches an unrestricted stream", open.serves(remote) && open.hears(999, remote), true},
		{"a foreign address is not served", closed.serves(remote), false},
		{"loopback is served", closed.serves(netip.MustParseAddr("127.0.0.1")), true},
		{"a foreign query through another interface", closed.hears(999, remote), false},
		{"a foreign query through a chosen interface", closed.hears(lo.Index, remote), true},
		{"a query of this host through another interface", closed.hears(999, netip.MustParseAddr("127.0.0.1")), true},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v", c.what, c.got)
		}
	}
	if _, err := chooseNetworks(Options{Interfaces: []string{"no-such-if"}}); !errors.Is(err, ErrInterface) {
		t.Errorf("unknown interface: %v", err)
	}
	n, err := chooseNetworks(Options{LoopbackOnly: true})
	if err != nil || len(n.interfaces) != 1 || n.interfaces[0].Name != lo.Name {
		t.Errorf("loopback only: %v %v", n.interfaces, err)
	}
}

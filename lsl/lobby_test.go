package lsl

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	hundreds  = 520
	rangeSize = 4
	together  = 40 // streams that one query finds: a socket holds the answers of as many
)

// TestHundredsOfOutlets: one process can have them, with two sockets each and one for all, and a reader finds every one: by one query to the shared
// port, and by one to each port of the range, although most have none of these.
func TestHundredsOfOutlets(t *testing.T) {
	needFiles(t, 3*hundreds)
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	base := testInfo(t)
	opts := Options{LoopbackOnly: true, DiscoveryPort: freePort(t), BasePort: 26572, PortRange: rangeSize}
	var outlets []*Outlet
	for i := range hundreds {
		info := base
		info.Name, info.SourceID = fmt.Sprint("group ", i/together), fmt.Sprint(base.SourceID, i)
		o := open(t, info, opts)
		outlets = append(outlets, o)
	}
	if got := openFiles(t) - files; got > 2*hundreds+10 {
		t.Errorf("%d files for %d outlets", got, hundreds)
	}
	a := newAsker(t)
	checkFound(a, outlets, "by the shared port", func(query string) { a.ask(query, loopback(opts.DiscoveryPort)) })
	byRange := func(query string) { askRange(a, outlets, query) }
	checkFound(a, outlets, "by the range", byRange)

	// When the one that spoke for the others ends, another does.
	i := slices.IndexFunc(outlets, (*Outlet).inRange)
	if i < 0 {
		t.Fatal("no outlet has a port of the range")
	}
	if err := outlets[i].Close(); err != nil {
		t.Fatal(err)
	}
	outlets = slices.Delete(outlets, i, i+1)
	checkFound(a, outlets, "by the range without the first", byRange)

	for _, o := range outlets {
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines })
	lobbies.Lock()
	defer lobbies.Unlock()
	for key := range lobbies.open {
		if key.port == opts.DiscoveryPort {
			t.Error("the shared socket is left open")
		}
	}
}

// askRange asks each service port of the range, as a reader with a known peer does.
func askRange(a *asker, outlets []*Outlet, query string) {
	a.t.Helper()
	for _, o := range outlets {
		if o.inRange() {
			a.ask(query, loopback(o.ServicePort()))
		}
	}
}

// checkFound asks for group after group and wants one answer from each stream and no more.
func checkFound(a *asker, outlets []*Outlet, how string, ask func(query string)) {
	a.t.Helper()
	groups := map[string][]string{}
	for _, o := range outlets {
		groups[o.Info().Name] = append(groups[o.Info().Name], o.UID())
	}
	for name, want := range groups {
		ask("name='" + name + "' and starts-with(source_id,'TestHundredsOfOutlets')")
		var got []string
		for range want {
			_, info, _ := a.answer()
			got = append(got, info.UID)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			a.t.Fatalf("%s, %s: found %v, want %v", how, name, got, want)
		}
	}
}

// TestLobbiesOfNetworks: outlets on other networks do not share a socket, and those of one do.
func TestLobbiesOfNetworks(t *testing.T) {
	port := freePort(t)
	one := open(t, testInfo(t), Options{LoopbackOnly: true, DiscoveryPort: port})
	two := open(t, testInfo(t), Options{LoopbackOnly: true, DiscoveryPort: port})
	named := open(t, testInfo(t), Options{Interfaces: []string{loopbackInterface(t).Name}, DiscoveryPort: port})
	elsewhere := open(t, testInfo(t), Options{LoopbackOnly: true, DiscoveryPort: freePort(t)})
	if one.lobby != two.lobby || one.lobby != named.lobby || one.lobby == elsewhere.lobby {
		t.Error("outlets are in the wrong lobbies")
	}
	everywhere := newLobbyKey(Options{DiscoveryPort: port}, networks{interfaces: one.nets.interfaces})
	if everywhere == one.lobby.key {
		t.Error("an outlet of all networks shares the socket of one on loopback")
	}
}

// TestPortKeptByAnother: where a program keeps the shared port to itself, known peers still find the stream.
func TestPortKeptByAnother(t *testing.T) {
	keeper, err := net.ListenUDP("udp4", nil) // without SO_REUSEADDR
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = keeper.Close() }()
	info := testInfo(t)
	o := open(t, info, Options{LoopbackOnly: true, DiscoveryPort: keeper.LocalAddr().(*net.UDPAddr).Port})
	if o.lobby != nil || o.Stats().Groups != 0 {
		t.Errorf("the port is shared all the same, %d groups", o.Stats().Groups)
	}
	a := newAsker(t)
	id := a.ask("source_id='"+info.SourceID+"'", loopback(o.ServicePort()))
	if got, found, _ := a.answer(); got != id || found.UID != o.UID() {
		t.Errorf("answer %s from stream %s", got, found.UID)
	}
}

// freePort is a UDP port that nobody has.
func freePort(t *testing.T) int {
	t.Helper()
	c := listenLoopback(t)
	port := int(netip.MustParseAddrPort(c.LocalAddr().String()).Port())
	_ = c.Close()
	return port
}

func needFiles(t *testing.T, n uint64) {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < n {
		t.Skipf("SKIPPED: this process may open %d files, %d are needed: see ulimit -n (%v)", limit.Cur, n, err)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

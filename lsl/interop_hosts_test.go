package lsl

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A host for the outlets and one for the reader, each a network namespace, with a cable between them.
const (
	outletHost = "10.77.0.1"
	readerHost = "10.77.0.2"
)

// TestInteropLiblslHosts lets the real library find streams over a network of two hosts, by each group address, by broadcast and
// by known peer. No packet leaves the machine.
func TestInteropLiblslHosts(t *testing.T) {
	needLibrary(t)
	if !inNamespace(t) {
		return
	}
	for _, line := range []string{
		"link add veth0 type veth peer name veth1",
		"link set lo up",
		"link set veth0 up",
		"addr add " + outletHost + "/24 dev veth0",
		"route add default dev veth0",
	} {
		ip(t, line)
	}
	every, hidden, chosen := testInfo(t), testInfo(t), testInfo(t)
	every.Desc.Channels = []Channel{{Label: "x", Unit: "meters"}, {Label: "y", Unit: "meters"}}
	o := open(t, every, Options{})
	open(t, hidden, Options{LoopbackOnly: true})
	open(t, chosen, Options{Interfaces: []string{"veth0"}})
	served := []string{every.SourceID, chosen.SourceID}
	all := []string{every.SourceID, chosen.SourceID, hidden.SourceID}

	other := startOtherHost(t)
	for _, c := range []struct {
		what, config string
		own, other   []string // streams found by a reader of the outlets' host, and of the other
	}{
		{"as installed", "", all, served},
		{"scope link", "[multicast]\nResolveScope = link\n", all, served},
		{"239.255.172.215", only("239.255.172.215"), all, served},
		{"224.0.0.183", only("224.0.0.183"), all, served},
		{"224.0.0.1", only("224.0.0.1"), all, served},
		{"broadcast", only("255.255.255.255"), all, served},
		{"known peer", machineScope(outletHost), served, served},
		{"another peer", machineScope(readerHost), nil, nil},
	} {
		if c.own != nil { // by its own port 16571 machine scope finds one of them, whichever it is
			checkFinds(t, c.what+", same host", libCommand(t, c.config, nil), c.own)
		}
		checkFinds(t, c.what+", other host", libCommand(t, c.config, other), c.other)
	}

	r := startReader(t, libCommand(t, "", other, "source_id='"+every.SourceID+"'", "f", "2"))
	defer keepPushing(t, o, 1000, func(ts float64) error { return o.Push(ts, []float32{float32(ts), 7}) })()
	checkFullInfo(t, o, r.next("xml"))
	checkCorrection(t, r) // the clock is one for both
	if ts, values := r.sample(); ts < 1000 || strings.Join(values, " ") != fmt.Sprintf("%g 7", ts) {
		t.Errorf("stamp %v carries %v", ts, values)
	}
}

// only sends all queries to one address.
func only(address string) string { return "[multicast]\nAddressesOverride = {" + address + "}\n" }

func machineScope(peer string) string {
	return "[multicast]\nResolveScope = machine\n[lab]\nKnownPeers = {" + peer + "}\n"
}

func checkFinds(t *testing.T, what string, cmd *exec.Cmd, want []string) {
	t.Helper()
	within := found
	if len(want) == 0 {
		within = notFound
	}
	got := startReader(t, cmd).find(max(1, len(want)), within, "starts-with(name,'TestInteropLiblslHosts')")
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("%s: found %v, want %v", what, got, want)
	}
}

// startOtherHost makes the reader's host and returns the words that run a command there.
func startOtherHost(t *testing.T) []string {
	t.Helper()
	host := exec.CommandContext(t.Context(), "cat") // lives for as long as its input
	host.SysProcAttr = ownNetwork()
	if _, err := host.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Process.Kill(); _ = host.Wait() })
	pid := fmt.Sprint(host.Process.Pid)
	ip(t, "link set veth1 netns "+pid)
	words := []string{"nsenter", "--net=/proc/" + pid + "/ns/net", "--"}
	for _, line := range []string{"link set lo up", "link set veth1 up", "addr add " + readerHost + "/24 dev veth1", "route add default dev veth1"} {
		run(t, append(slices.Clone(words), append([]string{"ip"}, strings.Fields(line)...)...))
	}
	return words
}

func ip(t *testing.T, line string) {
	t.Helper()
	run(t, append([]string{"ip"}, strings.Fields(line)...))
}

func run(t *testing.T, words []string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", words, err, out)
	}
}

// inNamespace runs the test once more, as a process with a network of its own, and is true in that one.
func inNamespace(t *testing.T) bool {
	t.Helper()
	const mark = "LSL_TEST_NAMESPACE"
	if os.Getenv(mark) != "" {
		return true
	}
	for _, tool := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: needs %s (iproute2, util-linux) to lay a network between namespaces", tool)
		}
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), mark+"=1")
	cmd.SysProcAttr = ownNetwork()
	out, err := cmd.CombinedOutput()
	if denied(err) {
		t.Skipf("SKIPPED: this user may not make a network namespace: %v", err)
	}
	t.Logf("in a network namespace:\n%s", out)
	if err != nil {
		t.Fatal(err)
	}
	return false
}

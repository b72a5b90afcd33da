package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

const hub = "rig: hub\nnats: {leaf: {listen: 127.0.0.1:7422}}\n"

func TestHosts(t *testing.T) {
	cfg, err := Parse("f.yaml", []byte(hub+"cameras: [{name: a, source: x}]\nparticipants: [{name: mother}]\nhosts:\n  - {rig: left, participants: [child, mother]}\n  - rig: right\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []Host{{Name: "left", Participants: []string{"child", "mother"}}, {Name: "right"}}; !reflect.DeepEqual(cfg.Hosts, want) {
		t.Errorf("got %+v", cfg.Hosts)
	}
	if got := cfg.HostNames(); !reflect.DeepEqual(got, []string{"left", "right"}) {
		t.Errorf("hosts %v", got)
	}
	if got := cfg.SynchronyPairs(); !reflect.DeepEqual(got, [][2]string{{"mother", "child"}}) {
		t.Errorf("pairs %v: a name that two hosts use is one person", got)
	}
	if camera, name, id := cfg.PlaceOf("child"); camera != "" || name != "child" || id != 0 {
		t.Errorf("the child is looked for at %q, %q, %d", camera, name, id)
	}
	if camera, name, id := cfg.PlaceOf("left/cam0:2"); camera != "left/cam0" || name != "" || id != 2 {
		t.Errorf("a number of another host at %q, %q, %d", camera, name, id)
	}
}

func TestPairsOverHosts(t *testing.T) {
	pairs := "synchrony: {pairs: [[mother, child], [\"a:1\", \"left/cam0:2\"]]}\n"
	cfg, err := Parse("f.yaml", []byte(hub+twoCameras+"participants: [{name: mother, camera: b}]\nhosts: [{rig: left, participants: [child]}]\n"+pairs))
	if err != nil || len(cfg.SynchronyPairs()) != 2 {
		t.Errorf("%v, %v", cfg.SynchronyPairs(), err)
	}
}

func TestHostErrors(t *testing.T) {
	for name, c := range map[string]struct{ yaml, want string }{
		"own name":             {hub + "hosts: [{rig: hub}]\n", `hosts[0].rig is "hub"; it must be another rig than this one`},
		"twice":                {hub + "hosts:\n  - rig: left\n  - rig: left\n", `line 5: invalid configuration: hosts[1].rig is "left"; it must be a rig that is not in the list yet`},
		"no name":              {hub + "hosts: [{participants: [child]}]\n", `hosts[0].rig is ""; it must be the name of a rig`},
		"reserved characters":  {hub + "hosts: [{rig: left.one}]\n", `hosts[0].rig is "left.one"; it must be the name of a rig, 1 to 32 of A-Z a-z 0-9 _ -`},
		"wildcard":             {hub + "hosts: [{rig: \"*\"}]\n", `hosts[0].rig is "*"`},
		"name of a person":     {hub + "hosts: [{rig: left, participants: [\"a b\"]}]\n", `hosts[0].participants is "a b"; it must be names of 1 to 32`},
		"person twice":         {hub + "hosts: [{rig: left, participants: [a, a]}]\n", `hosts[0].participants is "a"; it must be a name that is not in the list yet`},
		"unknown key":          {hub + "hosts: [{rgi: left}]\n", `unknown key "rgi" (did you mean "rig"?)`},
		"nobody listens":       {"hosts: [{rig: left}]\n", `nats.leaf.listen is ""; it must be host:port where the servers of the hosts join`},
		"unknown person":       {hub + "hosts: [{rig: left, participants: [child]}]\nsynchrony: {pairs: [[child, mother]]}\n", `synchrony.pairs[0] is "mother"; it must be the name of a participant`},
		"unknown rig":          {hub + "hosts: [{rig: left}]\nsynchrony: {pairs: [[\"left/cam0:1\", \"right/cam0:1\"]]}\n", `synchrony.pairs[0] is "right/cam0:1"; it must be of a rig that hosts lists`},
		"listen":               {"nats: {leaf: {listen: here}}\n", `nats.leaf.listen is "here"; it must be host:port`},
		"hub and listen":       {"nats: {leaf: {listen: \":7422\", hub: \"nats://127.0.0.1:7422\"}}\n", `nats.leaf.hub is "nats://127.0.0.1:7422"; it must be left out on the hub`},
		"hub without port":     {"nats: {leaf: {hub: \"tls://hub\"}}\n", `nats.leaf.hub is "tls://hub"; it must be the hub's nats.leaf.listen as tls://NAME:PORT`},
		"hub without scheme":   {"nats: {leaf: {hub: \"hub:7422\"}}\n", `nats.leaf.hub is "hub:7422"`},
		"password":             {"nats: {leaf: {hub: \"tls://u:p@hub:7422\"}}\n", "nats.leaf.hub is"},
		"credentials alone":    {"nats: {leaf: {credentials: x}}\n", `nats.leaf.credentials is "x"; it must be left out without nats.leaf.hub`},
		"listens elsewhere":    {"nats: {url: \"nats://a:4222\", leaf: {listen: \":7422\"}}\n", `nats.leaf.listen is ":7422"; it must be left out where nats.url names a server`},
		"joins elsewhere":      {"nats: {url: \"nats://a:4222\", leaf: {hub: \"nats://b:7422\"}}\n", `nats.leaf.hub is "nats://b:7422"; it must be left out`},
		"key for another host": {"nats: {url: \"nats://a:4222\", leaf: {credentials: x}}\n", `nats.leaf.credentials is "x"; it must be left out`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("f.yaml", []byte(c.yaml))
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant ErrInvalid with %q", err, c.want)
			}
		})
	}
}

// A server of one's own may have hosts: then it is its business how they join.
func TestHostsOnAServerOfOnesOwn(t *testing.T) {
	if _, err := Parse("f.yaml", []byte("nats: {url: \"nats://a:4222\"}\nhosts: [{rig: left}]\n")); err != nil {
		t.Error(err)
	}
}

func TestHostsDoNotChangeLive(t *testing.T) {
	from, err := Parse("f.yaml", []byte(hub))
	if err != nil {
		t.Fatal(err)
	}
	to := from
	if err := to.Set("hosts.left", "{participants: [child]}"); err != nil {
		t.Fatal(err)
	}
	changes := Changes(from, to)
	if len(changes) != 1 || changes[0].Key != "hosts.left" {
		t.Errorf("changes %v", changes)
	}
	if err := CheckLive(changes); !errors.Is(err, ErrRestart) || !strings.Contains(err.Error(), "hosts.left needs a restart of facetrack up, tracker and lsl-out") {
		t.Error(err)
	}
}

// What a hub has stored is played again without the others: pairs that need them are left out.
func TestConfigurationAlone(t *testing.T) {
	for pairs, want := range map[string][][2]string{
		"":                                    {{"mother", "father"}},
		"[[mother, child], [father, mother]]": {{"father", "mother"}},
		"[[mother, child], [\"left/a:1\", father]]": nil,
	} {
		text := hub + "cameras: [{name: a, source: x}]\nparticipants: [{name: mother, camera: a, identity: 1}, {name: father, camera: a, identity: 2}]\nhosts: [{rig: left, participants: [child]}]\n"
		if pairs != "" {
			text += "synchrony: {pairs: " + pairs + "}\n"
		}
		cfg, err := Parse("f.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all := len(cfg.Synchrony.Pairs)
		alone := cfg.Alone()
		if err := alone.Validate(); err != nil || !reflect.DeepEqual(alone.SynchronyPairs(), want) || alone.Hosts != nil || alone.NATS.Leaf != (Leaf{}) {
			t.Errorf("%s: pairs %v, %v", pairs, alone.SynchronyPairs(), err)
		}
		if len(cfg.Synchrony.Pairs) != all {
			t.Errorf("%s: the configuration itself has changed", pairs)
		}
	}
}

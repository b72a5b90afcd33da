package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Leaf joins the embedded servers of several machines: one listens, the hub, and the others connect to it.
type Leaf struct {
	Listen string `yaml:"listen" json:"listen"`
	Hub    string `yaml:"hub" json:"hub"`
	// Credentials is the folder that facetrack auth host has made on the hub.
	Credentials string `yaml:"credentials" json:"credentials"`
}

// Host is a rig of another machine that joins this one's server.
type Host struct {
	Name string `yaml:"rig" json:"rig"`
	// Participants are the names that this rig gives, and this one may use.
	Participants []string `yaml:"participants" json:"participants"`
}

// HostNames are the rigs of the other hosts.
func (c Config) HostNames() (names []string) {
	for _, h := range c.Hosts {
		names = append(names, h.Name)
	}
	return names
}

// OnOtherHosts tells whether another host has somebody of that name.
func (c Config) OnOtherHosts(name string) bool {
	return slices.ContainsFunc(c.Hosts, func(h Host) bool { return slices.Contains(h.Participants, name) })
}

// Names are those of all participants, here and on other hosts.
func (c Config) Names() (names []string) {
	for _, p := range c.Participants {
		names = append(names, p.Name)
	}
	for _, h := range c.Hosts {
		for _, name := range h.Participants {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Alone is the configuration without other hosts, and without pairs that need them.
func (c Config) Alone() Config {
	if len(c.Hosts) == 0 {
		return c
	}
	pairs := slices.Clone(c.Synchrony.Pairs)
	c.Hosts, c.NATS.Leaf = nil, Leaf{}
	c.Synchrony.Pairs = slices.DeleteFunc(pairs, func(p []string) bool {
		return slices.ContainsFunc(p, func(who string) bool { return !c.isParticipant(who) })
	})
	if len(pairs) > 0 && len(c.Synchrony.Pairs) == 0 { // an empty list would mean all
		c.Synchrony.Enabled = false
	}
	return c
}

func (c Config) validateHosts() error {
	seen := map[string]bool{}
	for i, h := range c.Hosts {
		key := fmt.Sprintf("hosts[%d]", i)
		switch {
		case !token.MatchString(h.Name):
			return bad(key+".rig", h.Name, "the name of a rig, 1 to 32 of A-Z a-z 0-9 _ -")
		case h.Name == c.Rig:
			return bad(key+".rig", h.Name, "another rig than this one: each host has a name of its own")
		case seen[h.Name]:
			return bad(key+".rig", h.Name, "a rig that is not in the list yet")
		}
		seen[h.Name] = true
		for j, name := range h.Participants {
			if !token.MatchString(name) {
				return bad(key+".participants", name, "names of 1 to 32 of A-Z a-z 0-9 _ -")
			}
			if slices.Contains(h.Participants[:j], name) {
				return bad(key+".participants", name, "a name that is not in the list yet")
			}
		}
	}
	if len(c.Hosts) > 0 && c.NATS.URL == "" && c.NATS.Leaf.Listen == "" {
		return bad("nats.leaf.listen", "", "host:port where the servers of the hosts join, as 127.0.0.1:7422")
	}
	return nil
}

func (n NATS) validateLeaf() error {
	l := n.Leaf
	if n.URL != "" && l != (Leaf{}) {
		key, value := "nats.leaf.listen", l.Listen
		switch {
		case l.Listen != "":
		case l.Hub != "":
			key, value = "nats.leaf.hub", l.Hub
		default:
			key, value = "nats.leaf.credentials", l.Credentials
		}
		return bad(key, value, "left out where nats.url names a server: join servers in its own configuration")
	}
	if l.Listen != "" {
		if _, _, err := net.SplitHostPort(l.Listen); err != nil {
			return bad("nats.leaf.listen", l.Listen, "host:port, as 192.168.1.2:7422")
		}
		if l.Hub != "" {
			return bad("nats.leaf.hub", l.Hub, "left out on the hub, which has nats.leaf.listen")
		}
	}
	if l.Hub == "" {
		if l.Credentials != "" {
			return bad("nats.leaf.credentials", l.Credentials, "left out without nats.leaf.hub")
		}
		return nil
	}
	u, err := url.Parse(l.Hub)
	if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" || u.Port() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" {
		return bad("nats.leaf.hub", l.Hub, "the hub's nats.leaf.listen as tls://NAME:PORT, or nats://127.0.0.1:PORT without credentials")
	}
	return nil
}

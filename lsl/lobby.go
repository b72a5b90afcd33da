package lsl

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"golang.org/x/net/ipv4"
)

// lobby is the socket on which outlets of this process that are found on the same networks hear queries. Each socket on the shared
// port gets a copy of every query, so that hundreds of outlets with one each would wake hundreds of times.
type lobby struct {
	key    lobbyKey
	nets   networks
	socket *udpSocket
	joined int           // multicast memberships
	ended  chan struct{} // closed when the socket is no longer served

	mu      sync.Mutex
	members []*Outlet // replaced, never changed in place
}

type lobbyKey struct {
	port       int
	interfaces string // their indexes
	restricted bool
}

func newLobbyKey(opts Options, nets networks) lobbyKey {
	key := lobbyKey{port: opts.DiscoveryPort, restricted: nets.restricted}
	for _, i := range nets.interfaces {
		key.interfaces += fmt.Sprint(i.Index, " ")
	}
	return key
}

// lobbies of this process.
var lobbies = struct {
	sync.Mutex
	open map[lobbyKey]*lobby
}{open: map[lobbyKey]*lobby{}}

// enterLobby adds the outlet to the lobby of its networks, which it opens if it is the first.
func enterLobby(o *Outlet) (*lobby, error) {
	key := newLobbyKey(o.opts, o.nets)
	lobbies.Lock()
	defer lobbies.Unlock()
	l := lobbies.open[key]
	if l == nil {
		conn, joined, err := listenDiscovery(o.opts, o.nets)
		if err != nil {
			return nil, err
		}
		l = &lobby{key: key, nets: o.nets, joined: joined, ended: make(chan struct{}), socket: newUDPSocket(conn, o.opts.Logger)}
		lobbies.open[key] = l
		go func() {
			defer close(l.ended)
			l.socket.receive(l.hear)
		}()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.members = append(slices.Clone(l.members), o)
	return l, nil
}

// leave takes the outlet out; with the last one the socket is closed.
func (l *lobby) leave(o *Outlet) error {
	if !l.remove(o) {
		return nil
	}
	err := l.socket.close()
	<-l.ended
	return err
}

// remove says whether nobody is left.
func (l *lobby) remove(o *Outlet) (empty bool) {
	lobbies.Lock()
	defer lobbies.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.members = slices.DeleteFunc(slices.Clone(l.members), func(m *Outlet) bool { return m == o })
	if len(l.members) > 0 {
		return false
	}
	delete(lobbies.open, l.key)
	return true
}

func (l *lobby) present() []*Outlet {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.members
}

// hear answers an info query sent to the groups, to broadcast, or to the shared port.
func (l *lobby) hear(b []byte, from netip.AddrPort, cm *ipv4.ControlMessage) {
	q, ok := parseDatagram(b).(infoQuery)
	if !ok || !l.nets.hears(cm.IfIndex, from.Addr()) {
		return
	}
	for _, o := range l.present() {
		select {
		case <-l.socket.done: // many costly queries must not hold up the last one's Close
			return
		default:
			o.answerInfo(q, from.Addr())
		}
	}
}

// ward returns the outlets for which this one answers readers that know the host: they try the ports of the range alone, and the first
// outlet that has one speaks for those that have not.
func (l *lobby) ward(o *Outlet) []*Outlet {
	members := l.present()
	if i := slices.IndexFunc(members, (*Outlet).inRange); i < 0 || members[i] != o {
		return nil
	}
	var out []*Outlet
	for _, m := range members {
		if !m.inRange() {
			out = append(out, m)
		}
	}
	return out
}

// inRange says whether readers that know the host ask the outlet's own port.
func (o *Outlet) inRange() bool {
	return o.id.servicePort >= o.opts.BasePort && o.id.servicePort < o.opts.BasePort+o.opts.PortRange
}

package lsl

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// networks are the interfaces on which a stream may be found and served.
type networks struct {
	interfaces []net.Interface // where groups are joined
	restricted bool            // nothing else may reach the stream
}

// chooseNetworks resolves the options against the interfaces that are up now.
func chooseNetworks(opts Options) (networks, error) {
	all, err := net.Interfaces()
	if err != nil {
		return networks{}, fmt.Errorf("%w: list: %w", ErrInterface, err)
	}
	n := networks{restricted: opts.LoopbackOnly || len(opts.Interfaces) > 0}
	for _, i := range all {
		loopback := i.Flags&net.FlagLoopback != 0
		wanted := loopback || !n.restricted && i.Flags&net.FlagMulticast != 0 || slices.Contains(opts.Interfaces, i.Name)
		if wanted && i.Flags&net.FlagUp != 0 {
			n.interfaces = append(n.interfaces, i)
		}
	}
	for _, name := range opts.Interfaces {
		if !slices.ContainsFunc(n.interfaces, func(i net.Interface) bool { return i.Name == name }) {
			return n, fmt.Errorf("%w: %q is missing or down: see 'ip link'", ErrInterface, name)
		}
	}
	return n, nil
}

// serves says whether the stream may be reached at this local address.
func (n networks) serves(local netip.Addr) bool {
	if !n.restricted || local.IsLoopback() {
		return true
	}
	for _, i := range n.interfaces {
		addrs, err := i.Addrs()
		if err == nil && contains(addrs, local) {
			return true
		}
	}
	return false
}

// hears says whether to answer a query which arrived through the interface with this index. Programs of this host
// are heard wherever they sent it: not all can choose the loopback interface.
func (n networks) hears(index int, from netip.Addr) bool {
	if !n.restricted || slices.ContainsFunc(n.interfaces, func(i net.Interface) bool { return i.Index == index }) {
		return true
	}
	addrs, err := net.InterfaceAddrs()
	return err == nil && contains(addrs, from)
}

func contains(addrs []net.Addr, ip netip.Addr) bool {
	return slices.ContainsFunc(addrs, func(a net.Addr) bool {
		p, ok := a.(*net.IPNet)
		return ok && p.IP.Equal(ip.AsSlice())
	})
}

package lsl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

// groups are the multicast addresses to which readers send queries at the default scope, the usual one first: the
// kernel limits how many memberships a socket may have.
var groups = []net.IP{
	net.IPv4(239, 255, 172, 215),
	net.IPv4(224, 0, 0, 183),
	net.IPv4(224, 0, 0, 1),
}

// listenInRange opens a socket on the first free port of the range, else on any.
func listenInRange[S any](opts Options, open func(port int) (S, error)) (S, error) {
	var none S
	for port := opts.BasePort; port < opts.BasePort+opts.PortRange && port <= 0xffff; port++ {
		s, err := open(port)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, unix.EADDRINUSE) && !errors.Is(err, unix.EACCES) {
			return none, err
		}
	}
	return open(0)
}

func listenData(opts Options) (*net.TCPListener, error) {
	l, err := listenInRange(opts, func(port int) (*net.TCPListener, error) {
		return net.ListenTCP("tcp4", &net.TCPAddr{IP: bindAddress(opts), Port: port})
	})
	if err != nil {
		return nil, fmt.Errorf("lsl: open TCP data socket: %w", err)
	}
	return l, nil
}

func listenService(opts Options) (*ipv4.PacketConn, error) {
	c, err := listenInRange(opts, func(port int) (*net.UDPConn, error) {
		return net.ListenUDP("udp4", &net.UDPAddr{IP: bindAddress(opts), Port: port})
	})
	if err != nil {
		return nil, fmt.Errorf("lsl: open UDP service socket: %w", err)
	}
	return withOrigin(c)
}

func bindAddress(opts Options) net.IP {
	if opts.LoopbackOnly {
		return net.IPv4(127, 0, 0, 1)
	}
	return net.IPv4zero
}

// listenDiscovery opens the socket that hears queries to the groups and to broadcast. It shares its port with every
// LSL program of the host. It is bound to all addresses even for loopback: a socket with a unicast address hears no
// multicast on Linux. joined counts the memberships; at 0 multicast queries are not heard.
func listenDiscovery(opts Options, nets networks) (conn *ipv4.PacketConn, joined int, err error) {
	lc := net.ListenConfig{Control: reuseAddress}
	pc, err := lc.ListenPacket(context.Background(), "udp4", fmt.Sprintf(":%d", opts.DiscoveryPort))
	if err != nil {
		return nil, 0, fmt.Errorf("lsl: open discovery socket: %w", err)
	}
	if conn, err = withOrigin(pc); err != nil {
		return nil, 0, err
	}
	for _, group := range groups {
		for _, i := range nets.interfaces {
			if err := conn.JoinGroup(&i, &net.UDPAddr{IP: group}); err != nil {
				opts.Logger.Debug("lsl: cannot join multicast group", "group", group.String(), "interface", i.Name, "error", err)
				continue
			}
			joined++
		}
	}
	return conn, joined, nil
}

// withOrigin makes the socket tell through which interface and to which address each datagram came.
func withOrigin(c net.PacketConn) (*ipv4.PacketConn, error) {
	conn := ipv4.NewPacketConn(c)
	if err := conn.SetControlMessage(ipv4.FlagInterface|ipv4.FlagDst, true); err != nil {
		return nil, errors.Join(fmt.Errorf("lsl: ask for the origin of datagrams: %w", err), c.Close())
	}
	return conn, nil
}

func reuseAddress(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	})
	return errors.Join(err, failed)
}

package lslbench

import (
	"context"
	"fmt"
	"net"
	"time"

	"golang.org/x/net/ipv4"
)

// interval is that of a reader that looks for streams all the time.
const interval = 500 * time.Millisecond

// addresses are those to which liblsl asks by default, one after the other.
var addresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(127, 255, 255, 255), net.IPv4(224, 0, 0, 183), net.IPv4(239, 255, 172, 215)}

// ask sends queries for all streams on the loopback interface until ctx is done, and then tells how many answers there were.
func ask(ctx context.Context) (<-chan int, error) {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		return nil, err
	}
	if err := ipv4.NewPacketConn(c).SetMulticastInterface(lo); err != nil {
		return nil, fmt.Errorf("lslbench: multicast on lo: %w", err)
	}
	_ = c.SetReadBuffer(8 << 20) // all streams answer at once; fewer are a smaller count
	answers := make(chan int, 1)
	go func() {
		n := 0
		for buf := make([]byte, 8<<10); ; n++ {
			if _, _, err := c.ReadFromUDP(buf); err != nil {
				answers <- n
				return
			}
		}
	}()
	go func() {
		defer func() { _ = c.Close() }()
		query := fmt.Appendf(nil, "LSL:shortinfo\r\nsession_id='%s'\r\n%d 1\r\n", session, c.LocalAddr().(*net.UDPAddr).Port)
		for tick := time.NewTicker(interval); ; {
			for _, a := range addresses {
				_, _ = c.WriteToUDP(query, &net.UDPAddr{IP: a, Port: 16571}) // what is lost is asked again
			}
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	}()
	return answers, nil
}

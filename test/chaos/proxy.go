package main

import (
	"io"
	"net"
	"slices"
	"sync"
)

// proxy passes connections on to a port, unless it is told to cut or to stall them.
type proxy struct {
	port   int
	to     int
	listen net.Listener

	mu     sync.Mutex
	open   []*pipe
	refuse bool
	stall  chan struct{} // not nil while nothing passes; closed when it does again
	over   sync.WaitGroup
}

type pipe struct{ a, b net.Conn }

func (p *pipe) close() {
	_ = p.a.Close()
	_ = p.b.Close()
}

func newProxy(port, to int) (*proxy, error) {
	l, err := net.Listen("tcp", (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}).String())
	if err != nil {
		return nil, err
	}
	p := &proxy{port: port, to: to, listen: l}
	p.over.Go(p.accept)
	return p, nil
}

func (p *proxy) accept() {
	for {
		a, err := p.listen.Accept()
		if err != nil {
			return
		}
		b, err := dialTCP(p.to)
		if err != nil || !p.add(&pipe{a, b}) {
			_ = a.Close()
			if b != nil {
				_ = b.Close()
			}
		}
	}
}

func (p *proxy) add(c *pipe) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse {
		return false
	}
	p.open = append(p.open, c)
	p.over.Go(func() { p.pass(c, c.a, c.b) })
	p.over.Go(func() { p.pass(c, c.b, c.a) })
	return true
}

// pass copies one direction until the connection ends.
func (p *proxy) pass(c *pipe, from io.Reader, to io.Writer) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.wait()
		if err == nil {
			_, err = to.Write(buf[:n])
		}
		if err != nil {
			p.drop(c)
			return
		}
	}
}

func (p *proxy) wait() {
	p.mu.Lock()
	stall := p.stall
	p.mu.Unlock()
	if stall != nil {
		<-stall
	}
}

func (p *proxy) drop(c *pipe) {
	c.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = slices.DeleteFunc(p.open, func(o *pipe) bool { return o == c })
}

// cut ends all connections and takes no more until the returned function is called.
func (p *proxy) cut() (mend func()) {
	p.mu.Lock()
	p.refuse = true
	all := slices.Clone(p.open)
	p.mu.Unlock()
	for _, c := range all {
		c.close()
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.refuse = false
	}
}

// reset ends one connection, the n-th of those that are open.
func (p *proxy) reset(n int) {
	p.mu.Lock()
	var c *pipe
	if len(p.open) > 0 {
		c = p.open[n%len(p.open)]
	}
	p.mu.Unlock()
	if c != nil {
		c.close()
	}
}

// hold lets nothing pass until the returned function is called.
func (p *proxy) hold() (mend func()) {
	stall := make(chan struct{})
	p.mu.Lock()
	p.stall = stall
	p.mu.Unlock()
	return func() {
		p.mu.Lock()
		p.stall = nil
		p.mu.Unlock()
		close(stall)
	}
}

func (p *proxy) close() {
	_ = p.listen.Close()
	p.cut()
	p.over.Wait()
}

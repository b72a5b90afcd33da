package ipcbench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/cuda"
	"facetrack/internal/kernels"
	"facetrack/ipc"
)

// consumer is the second process.
type consumer struct {
	nc     *ipc.Conn
	acks   *ipc.Publisher
	gpu    *cuda.Context // nil: frames are looked at with the CPU
	set    *kernels.Set
	lanes  map[int][]*lane // by bytes of a frame
	opened map[string]*opened
	round  *round
}

// opened is one transport of one format, attached.
type opened struct {
	source
	order
}

// Serve is the second process: it obeys the orders on in until that ends.
func Serve(in io.Reader, out io.Writer) error {
	c := &consumer{lanes: map[int][]*lane{}, opened: map[string]*opened{}}
	defer c.close()
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var o order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("facetrack bench ipc: the second process was told nonsense: %w", err)
		}
		a, err := c.obey(o)
		if err != nil {
			a = answer{Error: err.Error()}
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}

func (c *consumer) obey(o order) (answer, error) {
	switch {
	case o.Op == opStart && c.nc == nil:
		return answer{}, c.start(o)
	case o.Op == opOpen && c.nc != nil:
		return c.open(o)
	case o.Op == opRound && c.opened[o.Name] != nil && c.round == nil:
		return answer{}, c.begin(c.opened[o.Name], o.Round)
	case o.Op == opFinish && c.round != nil:
		read, err := c.round.finish()
		c.round = nil
		return answer{Read: &read}, err
	}
	return answer{}, fmt.Errorf("the second process cannot %q %q now", o.Op, o.Name)
}

func (c *consumer) start(o order) (err error) {
	if c.nc, err = ipc.Connect(o.NATS, "consumer", slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	c.acks = ipc.NewPublisher(c.nc.Conn)
	if o.GPU == "" {
		return nil
	}
	id, err := cuda.ParseUUID(o.GPU)
	if err != nil {
		return err
	}
	d, err := cuda.DeviceByUUID(id)
	if err != nil {
		return err
	}
	if c.gpu, err = cuda.Open(d); err != nil {
		return err
	}
	c.set, err = kernels.Load(c.gpu)
	return err
}

func (c *consumer) open(o order) (a answer, err error) {
	began := time.Now()
	s, err := c.attach(o)
	if err != nil {
		return a, err
	}
	c.opened[o.Name] = &opened{s, o}
	a.AttachMS = math.Round(1e2*time.Since(began).Seconds()*1e3) / 1e2
	a.Note, a.Sync = s.note()
	return a, nil
}

// begin subscribes; from its answer on frames may come.
func (c *consumer) begin(from *opened, o roundOrder) error {
	on, err := c.lanesFor(from.Shape.FrameBytes(), max(o.Lanes, 1))
	if err != nil {
		return err
	}
	r := &round{consumer: c, from: from, how: o, frames: make(chan *nats.Msg, 4*window)}
	if r.sub, err = c.nc.ChanSubscribe(frameSubject(from.Camera), r.frames); err != nil {
		return err
	}
	if err := c.nc.FlushTimeout(patience); err != nil {
		return errors.Join(err, r.sub.Unsubscribe())
	}
	for _, l := range on {
		r.work.Go(func() { r.read(l) })
	}
	c.round = r
	return nil
}

func (c *consumer) lanesFor(frameBytes, n int) ([]*lane, error) {
	have := c.lanes[frameBytes]
	for len(have) < n {
		l, err := newLane(c.gpu, c.set, frameBytes)
		if err != nil {
			return nil, err
		}
		have = append(have, l)
		c.lanes[frameBytes] = have
	}
	return have[:n], nil
}

func (c *consumer) close() {
	if c.nc != nil {
		_ = c.nc.Close()
	}
	if c.round != nil { // the producer has ended in the middle of it
		_, _ = c.round.finish()
	}
	for _, o := range c.opened {
		_ = o.Close()
	}
	for _, all := range c.lanes {
		for _, l := range all {
			_ = l.Close()
		}
	}
	if c.set != nil {
		_ = c.set.Close()
	}
	_ = c.gpu.Close()
}

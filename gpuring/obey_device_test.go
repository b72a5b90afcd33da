package gpuring_test

import (
	"errors"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
	"facetrack/internal/fault"
)

// devicePuppet is what of a child is on the GPU.
type devicePuppet struct {
	ctx     *cuda.Context
	eye     *eye
	readers []gpuring.DeviceReader
	leases  []gpuring.Lease
	stuck   chan error
}

// open makes the child's context when it is first needed.
func (g *devicePuppet) open() error {
	if g.ctx != nil {
		return nil
	}
	d, err := cuda.SelectDevice("auto")
	if err == nil {
		g.ctx, err = cuda.Open(d)
	}
	if err == nil {
		g.eye, err = newEye(g.ctx)
	}
	g.stuck = make(chan error, 1)
	return err
}

func (p *puppet) doDevice(cmd command) (a answer) {
	g := &p.gpu
	if err := g.open(); err != nil {
		return failure(err)
	}
	switch cmd.Do {
	case "plan":
		fault.Plan(cmd.Name)
	case "gpu create": // N: frames from this one on are cut off in the middle of their upload; 0: none
		cmd.Options.GPU = g.ctx
		if cmd.N > 0 {
			gate, err := newGate(g.ctx)
			if err != nil {
				return failure(err)
			}
			cmd.Options.Fill = gate.halfFrom(uint64(cmd.N))
		}
		return p.create(*cmd.Options)
	case "gpu write proof":
		cell, err := p.w.(gpuring.DeviceWriter).WriteProof(*cmd.Challenge)
		return answer{N: cell, Err: errName(err)}
	case "gpu end writer":
		return failure(p.w.Close())
	case "gpu open":
		r, err := gpuring.OpenDevice(*cmd.Descriptor, cmd.Name, gpuring.DeviceOptions{
			GPU: g.ctx, Sync: cmd.Sync, Stuck: func(err error) { g.stuck <- err },
		})
		if err != nil {
			return failure(err)
		}
		g.readers = append(g.readers, r.(gpuring.DeviceReader))
		return answer{N: len(g.readers) - 1, Text: string(g.readers[len(g.readers)-1].Sync())}
	case "gpu prove":
		return failure(g.readers[0].Prove(cmd.N, *cmd.Challenge))
	case "gpu lease":
		l, err := g.readers[cmd.N].Lease(cmd.Tickets[0])
		if err != nil {
			return failure(err)
		}
		g.leases = append(g.leases, l)
		v := l.View()
		v.Fence = nil // it is of this process
		return answer{N: len(g.leases) - 1, View: &v}
	case "gpu get":
		frame := make([]byte, cmd.Options.Geometry.FrameBytes())
		err := g.eye.get(g.leases[cmd.N].View(), frame)
		return answer{Pixels: frame, Err: errName(err)}
	case "gpu wait": // without end
		return failure(g.leases[cmd.N].View().Fence.Wait(g.eye.stream))
	case "gpu valid":
		return failure(g.leases[cmd.N].Valid())
	case "gpu release":
		return failure(g.leases[cmd.N].Release())
	case "gpu close":
		return failure(g.readers[cmd.N].Close())
	case "gpu stall":
		gpuring.Stall(g.readers[cmd.N])
	case "gpu maps":
		if gpuring.Maps(g.readers[cmd.N]) {
			return answer{N: 1}
		}
	case "gpu stuck":
		return failure(<-g.stuck)
	case "gpu end":
		return failure(errors.Join(g.eye.close(), g.ctx.Close()))
	default:
		return answer{Err: "unknown command " + cmd.Do}
	}
	return answer{}
}

func failure(err error) answer {
	if err == nil {
		return answer{}
	}
	return answer{Err: errName(err), Text: err.Error()}
}

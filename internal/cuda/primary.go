package cuda

import (
	"errors"
	"runtime"
	"sync"

	"facetrack/internal/fault"
)

// primary is the primary context of a device: one a process, retained once, released with the last of its users. Users are
// the Contexts and everything that was made with them, so that the order in which things are closed does not matter.
type primary struct {
	driver  driver
	device  Device
	dev     int
	context word
	v1      bool // the driver has only the first form of the stream memory operations
	imports importTable

	users    int           // guarded by primaries; 0: it is being released
	retained chan struct{} // closed when retain has ended, with err
	err      error
	released chan struct{} // closed when the release has ended
}

// primaries are the contexts that are being made, used or released.
var primaries = struct {
	sync.Mutex // never held during a driver call: a GPU that takes seconds must not hold up the others
	byOrdinal  map[int]*primary
}{byOrdinal: map[int]*primary{}}

// use begins one use of a device's context, which the first user makes.
func use(d Device) (*primary, error) {
	p, isNew := claim(d)
	if isNew {
		if p.err = p.retain(); p.err != nil {
			p.forget() // the next one tries again
		}
		close(p.retained)
	}
	<-p.retained
	return orNil(p, p.err)
}

// claim counts one more user, of a new primary if there is none. It waits for one that is being released.
func claim(d Device) (p *primary, isNew bool) {
	primaries.Lock()
	defer primaries.Unlock()
	for {
		p = primaries.byOrdinal[d.Ordinal]
		if p == nil {
			p = &primary{device: d, users: 1, retained: make(chan struct{}), released: make(chan struct{})}
			primaries.byOrdinal[d.Ordinal] = p
			return p, true
		}
		if p.users > 0 {
			p.users++
			return p, false
		}
		primaries.Unlock()
		<-p.released
		primaries.Lock()
	}
}

func (p *primary) forget() {
	primaries.Lock()
	delete(primaries.byOrdinal, p.device.Ordinal)
	primaries.Unlock()
}

func (p *primary) retain() error {
	err := call("cuDeviceGet", func(drv driver) (code Code) {
		p.driver = drv
		p.dev, code = drv.deviceGet(p.device.Ordinal)
		return code
	})
	if err != nil {
		return err
	}
	second, code := p.driver.deviceAttribute(p.dev, attributeMemOps64)
	p.v1 = code != 0 || second == 0
	return call("cuDevicePrimaryCtxRetain", func(drv driver) (code Code) {
		p.context, code = drv.contextRetain(p.dev)
		return code
	})
}

// leave ends one use of the context.
func (p *primary) leave() error {
	primaries.Lock()
	p.users--
	last := p.users == 0
	primaries.Unlock()
	if !last {
		return nil
	}
	err := call("cuDevicePrimaryCtxRelease", func(d driver) Code { return d.contextRelease(p.dev) })
	p.forget()
	close(p.released)
	return err
}

// call makes one driver call with the context current. A context is current on a thread, and goroutines move between
// threads: the two have to happen on one thread.
func (p *primary) call(name string, f func(d driver) Code) error {
	if code := fault.Code(name); code != 0 {
		return failed(name, Code(code))
	}
	runtime.LockOSThread()
	code := p.driver.contextSet(p.context)
	if code == 0 {
		code = f(p.driver)
	}
	runtime.UnlockOSThread()
	if code == 0 {
		return nil
	}
	return failed(name, code)
}

func (p *primary) join() {
	primaries.Lock()
	p.users++
	primaries.Unlock()
}

// finish ends something that create made.
func (p *primary) finish(name string, f func(d driver) Code) error {
	return errors.Join(p.call(name, f), p.leave())
}

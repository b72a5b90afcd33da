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
	users   int  // guarded by primaries

	imports importTable
}

var primaries struct {
	sync.Mutex
	open map[int]*primary // by ordinal
}

func retain(d Device) (*primary, error) {
	p := &primary{device: d}
	err := call("cuDeviceGet", func(drv driver) (code Code) {
		p.driver = drv
		p.dev, code = drv.deviceGet(d.Ordinal)
		return code
	})
	if err != nil {
		return nil, err
	}
	second, code := p.driver.deviceAttribute(p.dev, attributeMemOps64)
	p.v1 = code != 0 || second == 0
	err = call("cuDevicePrimaryCtxRetain", func(drv driver) (code Code) {
		p.context, code = drv.contextRetain(p.dev)
		return code
	})
	return p, err
}

// leave ends one use of the context.
func (p *primary) leave() error {
	primaries.Lock()
	defer primaries.Unlock()
	if p.users--; p.users > 0 {
		return nil
	}
	delete(primaries.open, p.device.Ordinal)
	return call("cuDevicePrimaryCtxRelease", func(d driver) Code { return d.contextRelease(p.dev) })
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

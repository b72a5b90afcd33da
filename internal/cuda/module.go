package cuda

import (
	"errors"
	"fmt"
	"math"
	"sync"
)

// Module is loaded PTX.
type Module struct {
	life
	p    *primary
	word word
}

// Function is a kernel of a module.
type Function struct {
	module *Module
	word   word
}

// LoadModule compiles PTX for the device.
func (c *Context) LoadModule(ptx []byte) (*Module, error) {
	m := &Module{p: c.p}
	err := c.create("cuModuleLoadData", func(d driver) (code Code) {
		m.word, code = d.moduleLoad(ptx)
		return code
	})
	m.end = func() error {
		return m.p.finish("cuModuleUnload", func(d driver) Code { return d.moduleUnload(m.word) })
	}
	return orNil(m, err)
}

// Function finds a kernel by its name.
func (m *Module) Function(name string) (*Function, error) {
	if !m.enter() {
		return nil, ErrClosed
	}
	defer m.exit()
	f := &Function{module: m}
	err := m.p.call("cuModuleGetFunction", func(d driver) (code Code) {
		f.word, code = d.moduleFunction(m.word, name)
		return code
	})
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", name, err)
	}
	return f, nil
}

// AllowShared lets launches of the kernel have up to so many bytes of dynamic shared memory; without it 48 KiB is the most.
func (f *Function) AllowShared(bytes int) error {
	if !f.module.enter() {
		return ErrClosed
	}
	defer f.module.exit()
	return f.module.p.call("cuFuncSetAttribute", func(d driver) Code { return d.functionShared(f.word, bytes) })
}

// Close unloads the module; its kernels must not be running.
func (m *Module) Close() error {
	if m == nil {
		return nil
	}
	return m.close()
}

const maxArguments = 32

// arguments are the values of a launch, one word each.
type arguments struct {
	words [maxArguments]uint64
	count int
}

var argumentPool = sync.Pool{New: func() any { return new(arguments) }}

var errArgument = errors.New("cuda: kernel arguments are at most 32 values of type uint64, uint32, int32 or float32")

// take copies the values of a launch. A kernel reads as many bytes as its parameter has, from the low end.
func (a *arguments) take(args []any) error {
	if len(args) > maxArguments {
		return errArgument
	}
	a.count = len(args)
	for i, v := range args {
		switch v := v.(type) {
		case uint64:
			a.words[i] = v
		case uint32:
			a.words[i] = uint64(v)
		case int32:
			a.words[i] = uint64(uint32(v))
		case float32:
			a.words[i] = uint64(math.Float32bits(v))
		default:
			return errArgument
		}
	}
	return nil
}

// Launch queues a kernel; shared is its dynamic shared memory in bytes. args are of type uint64, uint32, int32 or float32.
func (s *Stream) Launch(f *Function, grid, block Dim, shared int, args ...any) error {
	a := argumentPool.Get().(*arguments)
	defer argumentPool.Put(a)
	if err := a.take(args); err != nil {
		return err
	}
	if !f.module.enter() {
		return ErrClosed
	}
	defer f.module.exit()
	return s.do("cuLaunchKernel", func(d driver) Code {
		return d.launch(s.word, f.word, grid, block, shared, a.words[:a.count])
	})
}

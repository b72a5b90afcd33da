package nvml

// handle is one GPU as this package needs it.
type handle interface {
	uuid() (string, error)
	name() (string, error)
	pci() (string, error)
	memory() (Memory, error)
	processes() ([]Process, error)
	mig() (bool, error)
	computeMode() (ComputeMode, error)
	link() (Link, error)
	throughput() (Throughput, error)
	counters() (Traffic, error)
	utilization() (Utilization, error)
	celsius() (int, error)
	watts() (float64, error)
}

// Device is a GPU. Its methods can be called from any goroutine until the Library is closed.
type Device struct {
	UUID string // "GPU-…"
	Name string
	PCI  string // "0000:19:00.0"

	library *Library
	handle  handle
}

// Memory of a GPU in bytes; Used is that of all processes and of the driver.
type Memory struct{ Total, Used int64 }

// Process is one that has a CUDA context.
type Process struct {
	PID   int   // in the PID namespace of the host: in a container it is not what getpid says
	Bytes int64 // of device memory; -1 when the driver does not tell, as in most containers and in WSL2
	MPS   bool  // a client of an MPS server
}

// ComputeMode says who may use a GPU.
type ComputeMode int

// The compute modes.
const (
	ModeDefault          ComputeMode = 0 // any number of processes
	ModeProhibited       ComputeMode = 2 // nobody
	ModeExclusiveProcess ComputeMode = 3 // one process, which can be an MPS server
)

// Link is the PCIe link as it is now; an idle GPU lowers its generation.
type Link struct {
	Generation, Width       int
	MaxGeneration, MaxWidth int
}

// Throughput is the PCIe traffic within the last 20 ms in KB/s, as the GPU sees it: RX from the CPU, TX to it. Asking takes
// as long.
type Throughput struct{ RXKBps, TXKBps int64 }

// Traffic is all bytes that went over PCIe, headers included, since the driver was loaded; the counters can wrap.
type Traffic struct{ RX, TX uint64 }

// Utilization is in percent of the last sampling period: GPU is the time with a kernel running.
type Utilization struct{ GPU, Memory int }

func (l *Library) describe(h handle) (d *Device, err error) {
	d = &Device{library: l, handle: h}
	if d.UUID, err = h.uuid(); err != nil {
		return nil, err
	}
	if d.Name, err = h.name(); err != nil {
		return nil, err
	}
	d.PCI, err = h.pci()
	return d, err
}

func of[T any](d *Device, f func(h handle) (T, error)) (T, error) {
	return ask(d.library, func(backend) (T, error) { return f(d.handle) })
}

// Memory tells how much is in use.
func (d *Device) Memory() (Memory, error) { return of(d, handle.memory) }

// Processes lists those with a CUDA context on the GPU, each once.
func (d *Device) Processes() ([]Process, error) { return of(d, handle.processes) }

// MIG tells whether the GPU is divided into instances, which cannot share memory with each other.
func (d *Device) MIG() (bool, error) { return of(d, handle.mig) }

// ComputeMode tells who may use the GPU.
func (d *Device) ComputeMode() (ComputeMode, error) { return of(d, handle.computeMode) }

// Link tells how the GPU is connected.
func (d *Device) Link() (Link, error) { return of(d, handle.link) }

// Throughput measures the PCIe traffic, which takes about 40 ms.
func (d *Device) Throughput() (Throughput, error) { return of(d, handle.throughput) }

// Traffic reads the counters of PCIe bytes, which GPUs have since Ampere or so; ErrNotSupported for others.
func (d *Device) Traffic() (Traffic, error) { return of(d, handle.counters) }

// Utilization tells how busy the GPU was.
func (d *Device) Utilization() (Utilization, error) { return of(d, handle.utilization) }

// Temperature of the GPU in degrees Celsius.
func (d *Device) Temperature() (int, error) { return of(d, handle.celsius) }

// Power that the board draws, in watts.
func (d *Device) Power() (float64, error) { return of(d, handle.watts) }

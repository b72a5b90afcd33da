package nvml

import (
	"fmt"
	"sync"
)

// LibraryVariable is the environment variable that names another library than libnvidia-ml.so.1.
const LibraryVariable = "FACETRACK_LIBNVML"

// backend is the library as this package needs it.
type backend interface {
	shutdown() error
	driver() (string, error)
	count() (int, error)
	at(index int) (handle, error)
	byUUID(uuid string) (handle, error)
}

// Library is one use of the management library; the library counts them.
type Library struct {
	mu   sync.RWMutex // held for reading during calls, so that none meets the end of the library
	back backend      // nil after Close
}

// Open begins to use the library: ErrNotBuilt, ErrNoLibrary, or an *Error such as that of a driver which is not loaded. Each
// Open needs a Close.
func Open() (*Library, error) {
	b, err := open()
	if err != nil {
		return nil, err
	}
	return &Library{back: b}, nil
}

// Close ends this use; its devices then answer ErrClosed. Later calls do nothing.
func (l *Library) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.back == nil {
		return nil
	}
	b := l.back
	l.back = nil
	return b.shutdown()
}

// ask makes a call while the library is open.
func ask[T any](l *Library, f func(b backend) (T, error)) (answer T, err error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.back == nil {
		return answer, ErrClosed
	}
	return f(l.back)
}

// Driver is the version of the driver, as "580.65.06".
func (l *Library) Driver() (string, error) { return ask(l, backend.driver) }

// Devices lists all GPUs that the driver lets this process see, in the order of nvidia-smi. Unlike CUDA it takes no
// notice of CUDA_VISIBLE_DEVICES, and a GPU with MIG instances is one device.
func (l *Library) Devices() ([]*Device, error) {
	return ask(l, func(b backend) ([]*Device, error) {
		n, err := b.count()
		if err != nil {
			return nil, err
		}
		devices := make([]*Device, 0, n)
		for i := range n {
			h, err := b.at(i)
			if err != nil {
				return nil, fmt.Errorf("GPU %d: %w", i, err)
			}
			d, err := l.describe(h)
			if err != nil {
				return nil, fmt.Errorf("GPU %d: %w", i, err)
			}
			devices = append(devices, d)
		}
		return devices, nil
	})
}

// Device finds a GPU by its UUID, as "GPU-…" (MIG instances as "MIG-…").
func (l *Library) Device(uuid string) (*Device, error) {
	return ask(l, func(b backend) (*Device, error) {
		h, err := b.byUUID(uuid)
		if err != nil {
			return nil, fmt.Errorf("GPU %s: %w", uuid, err)
		}
		return l.describe(h)
	})
}

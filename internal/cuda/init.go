package cuda

import (
	"fmt"
	"os"
	"sync"

	"facetrack/internal/fault"
)

// LibraryVariable is the environment variable that names another driver library than libcuda.so.1.
const LibraryVariable = "FACETRACK_LIBCUDA"

var loading struct {
	sync.Mutex
	done   bool
	driver driver // nil without a library
	err    error
}

// Init loads and initialises the driver, once. nil, ErrNotBuilt, ErrNoDriver or an *Error (NoDevice, for example).
func Init() error {
	_, err := ready()
	return err
}

// ready is the initialised driver.
func ready() (driver, error) {
	if code := fault.Code("cuInit"); code != 0 {
		return nil, failed("cuInit", Code(code))
	}
	loading.Lock()
	if !loading.done {
		loading.done = true
		loading.driver, loading.err = load()
	}
	d, err := loading.driver, loading.err
	loading.Unlock()
	return d, err
}

// settings are what the driver reads from the environment when it is loaded, unless the operator has set it otherwise.
var settings = map[string]string{
	"CUDA_MODULE_LOADING": "EAGER", // loading a kernel late can wait for streams that wait for another process
}

func load() (driver, error) {
	for name, value := range settings {
		if _, set := os.LookupEnv(name); !set {
			_ = os.Setenv(name, value)
		}
	}
	library := "libcuda.so.1"
	if other := os.Getenv(LibraryVariable); other != "" {
		library = other
	}
	d, code, err := loadDriver(library)
	switch {
	case err != nil:
		return nil, err
	case code != 0:
		name := names[code]
		if name == "" {
			name = d.errorName(code)
		}
		return d, &Error{Call: "cuInit", Code: code, Name: name}
	}
	return d, nil
}

// loadedDriver is the library if it was loaded, initialised or not.
func loadedDriver() driver {
	loading.Lock()
	defer loading.Unlock()
	return loading.driver
}

// call makes one driver call that needs no context. Every call of this package goes through here, or through the call of a
// context, with the driver's name of it: this is where planned faults strike.
func call(name string, f func(d driver) Code) error {
	d, err := ready()
	if err != nil {
		return err
	}
	if code := fault.Code(name); code != 0 {
		return failed(name, Code(code))
	}
	return failed(name, f(d))
}

// DriverVersion is 13000 for CUDA 13.0. It works without a device.
func DriverVersion() (int, error) {
	err := Init()
	d := loadedDriver()
	if d == nil {
		return 0, err
	}
	version, code := d.version()
	if planned := fault.Code("cuDriverGetVersion"); planned != 0 {
		code = Code(planned)
	}
	if code != 0 {
		return 0, fmt.Errorf("the driver's version: %w", failed("cuDriverGetVersion", code))
	}
	return version, nil
}

//go:build !cuda

package nvml

func open() (backend, error) { return nil, ErrNotBuilt }

//go:build !cuda

package cuda

func loadDriver(string) (driver, Code, error) { return nil, 0, ErrNotBuilt }

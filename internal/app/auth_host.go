package app

import (
	"fmt"
	"time"

	"facetrack/internal/auth"
)

// AuthHostCmd is `facetrack auth host`.
type AuthHostCmd struct {
	AuthDir
	Rig string `arg:"" placeholder:"RIG" help:"Rig of the other host."`
}

// Run is `facetrack auth host`.
func (c *AuthHostCmd) Run() error {
	folder, err := auth.AddHost(c.dir(), c.Rig, time.Now())
	if err != nil {
		return err
	}
	fmt.Printf("the host of rig %s joins with the folder %s: take it there (mode 0700, its files 0600) and name it with nats.leaf.credentials\n", c.Rig, folder)
	fmt.Printf("name the rig here in hosts, and start the server again: until then it does not know the key\n")
	return nil
}

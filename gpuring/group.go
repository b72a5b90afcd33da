package gpuring

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"

	"facetrack/gpuring/internal/shm"
)

// groupID finds a group, by name or number, that this process is in.
func groupID(name string) (int, error) {
	if name == "" {
		return shm.NoGroup, nil
	}
	gid, err := strconv.Atoi(name)
	if err != nil {
		g, err := user.LookupGroup(name)
		if err != nil {
			return shm.NoGroup, fmt.Errorf("there is no group %q: make it (groupadd --system %s), or name another", name, name)
		}
		if gid, err = strconv.Atoi(g.Gid); err != nil {
			return shm.NoGroup, fmt.Errorf("group %q: %w", name, err)
		}
	}
	mine, err := os.Getgroups()
	if err != nil {
		return shm.NoGroup, fmt.Errorf("group %q: %w", name, err)
	}
	if gid < 0 || gid != os.Getegid() && !slices.Contains(mine, gid) {
		return shm.NoGroup, fmt.Errorf("this process is not in the group %q: add its user (usermod -aG %s USER) and log in again, or start it with that group", name, name)
	}
	return gid, nil
}

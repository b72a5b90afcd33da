package auth

import (
	"path/filepath"
	"time"
)

// Overview is a set of credentials as facetrack auth show prints it, without secrets.
type Overview struct {
	Dir       string     `json:"dir"`
	Hosts     []string   `json:"hosts"`
	CAEnds    time.Time  `json:"ca_ends"`
	ServerEnd time.Time  `json:"server_certificate_ends"`
	Roles     []RoleInfo `json:"roles"`
}

// RoleInfo is what is known of a role.
type RoleInfo struct {
	Role Role `json:"role"`
	Key
	Permissions
}

// Show reads a folder of credentials; permissions are those on the rig.
func Show(dir, rig string) (*Overview, error) {
	b, err := readBook(dir)
	if err != nil {
		return nil, err
	}
	o := &Overview{Dir: dir, Hosts: withLocal(b.Hosts)}
	for _, c := range []struct {
		file string
		end  *time.Time
	}{{caFile, &o.CAEnds}, {serverFile, &o.ServerEnd}} {
		certificate, err := readCertificate(filepath.Join(dir, c.file))
		if err != nil {
			return nil, err
		}
		*c.end = certificate.NotAfter
	}
	for _, r := range Roles {
		o.Roles = append(o.Roles, RoleInfo{r, b.Keys[r], PermissionsOf(r, rig)})
	}
	return o, nil
}

package auth

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"text/template"

	"github.com/nats-io/jwt/v2"
)

// confText is a configuration of nats-server with the roles of this folder.
var confText = template.Must(template.New(confFile).Funcs(template.FuncMap{"quote": strconv.Quote}).Parse(
	`# nats-server -c nats-server.conf
# Made by facetrack auth; facetrack auth rotate writes it anew.
listen: "0.0.0.0:4222"
max_payload: 1MB
jetstream {
  store_dir: {{quote .Store}}
{{- if .Domain}}
  domain: {{quote .Domain}}
{{- end}}
}
{{- if .Hosts}}
leafnodes {
  listen: "0.0.0.0:7422"
  tls {
    cert_file: {{quote .Certificate}}
    key_file: {{quote .Key}}
    min_version: "1.3"
  }
  isolate_leafnode_interest: true
}
{{- end}}
tls {
  cert_file: {{quote .Certificate}}
  key_file: {{quote .Key}}
  min_version: "1.3"
}
authorization {
  users: [
{{- range .Users}}
    { # {{.Who}}
      nkey: {{.Public}}
      allowed_connection_types: [{{range $i, $s := .Ways}}{{if $i}}, {{end}}{{quote $s}}{{end}}]
      permissions: {
        publish: [{{range $i, $s := .Publish}}{{if $i}}, {{end}}{{quote $s}}{{end}}]
        subscribe: [{{range $i, $s := .Subscribe}}{{if $i}}, {{end}}{{quote $s}}{{end}}]
      }
    }
{{- end}}
  ]
}
`))

type confUser struct {
	Permissions
	Who    string
	Public string
	Ways   []string
}

// conf is the configuration of a NATS server that lets the roles in.
func (b *book) conf(dir string) ([]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	var users []confUser
	hosts := slices.Sorted(maps.Keys(b.Joining))
	for _, r := range Roles {
		p := PermissionsOn(r, b.Rigs)
		for _, rig := range hosts {
			p.hearHost(r, rig)
		}
		users = append(users, confUser{p, string(r), b.Keys[r].Public, asClient})
	}
	for _, rig := range hosts {
		users = append(users, confUser{PermissionsOfHost(rig), "host of rig " + rig, b.Joining[rig].Public, []string{jwt.ConnectionTypeLeafnode}})
	}
	domain := "" // of a hub: that of its rig, by which other servers tell its streams from theirs
	if len(hosts) > 0 && len(b.Rigs) == 1 {
		domain = b.Rigs[0]
	}
	var out bytes.Buffer
	err = confText.Execute(&out, map[string]any{
		"Certificate": filepath.Join(dir, serverFile), "Key": filepath.Join(dir, serverKeyFile),
		"Store": filepath.Join(dir, "jetstream"), "Users": users, "Hosts": hosts, "Domain": domain,
	})
	return out.Bytes(), err
}

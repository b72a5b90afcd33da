// Package docs holds those documents that the program shows itself.
package docs

import _ "embed"

// Schema is the JSON schema of the configuration file; package config makes it.
//
//go:embed facetrack.schema.json
var Schema []byte

#!/usr/bin/env bash
# Writes the output of the commands in docs/nats.md anew, with the real nats program and a rig of two cameras; a test compares it (make e2e).
# Needs bin/facetrack and bin/nats: make build bin/nats.
set -euo pipefail
cd "$(dirname "$0")/.."

[ -x bin/nats ] || {
	echo "nats-page: bin/nats is missing: make bin/nats" >&2
	exit 1
}
command -v jq >/dev/null || {
	echo "nats-page: jq is missing, which the page uses" >&2
	exit 1
}
FACETRACK_WRITE_PAGE=1 FACETRACK_BIN="${FACETRACK_BIN:-$PWD/bin/facetrack}" go test -count=1 -tags 'e2e' -run '^TestNATSPage$' ./test/e2e

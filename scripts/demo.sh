#!/usr/bin/env bash
# Tracks the two people of the clip that is part of the program, records them and tells how far from the truth that is. It needs no network.
# DEMO_SOURCE is tracked instead, if it is given: a camera, a file, whatever `facetrack up --source` takes. Arguments go to `facetrack up`.
set -euo pipefail
cd "$(dirname "$0")/.."

facetrack=${FACETRACK_BIN:-bin/facetrack}
source=${DEMO_SOURCE:-demo}
out=${DEMO_OUT:-recordings}

mkdir -p "$out"
record=$out/demo-$(date +%Y%m%d-%H%M%S).jsonl
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
"$facetrack" up --source "$source" --loop --duration "${DEMO_SECONDS:-15}s" --rig demo --listen 127.0.0.1:-1 --data-dir "$data" \
	--record "$record" --summary "${record%.jsonl}.json" "$@"
if [ "$source" = demo ]; then
	"$facetrack" compare "$record"
fi

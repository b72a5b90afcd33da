#!/usr/bin/env bash
# Measures five processes without a GPU on a looped 640×480 clip of one face; raw numbers go to docs/benchmarks/cpu.json.
set -euo pipefail
cd "$(dirname "$0")/.."
clip=
for dir in ${FACETRACK_ASSETS:+"$FACETRACK_ASSETS/media"} ../shared/assets/media "${XDG_CACHE_HOME:-$HOME/.cache}/facetrack/media"; do
	[ -f "$dir/yes.mkv" ] && clip=$dir/yes.mkv && break
done
[ -n "$clip" ] || {
	echo "bench-cpu: no clip yes.mkv; docs/assets.md says where it comes from" >&2
	exit 1
}
exec bin/facetrack bench cpu "$clip" --out "${OUT:-docs/benchmarks/cpu.json}"

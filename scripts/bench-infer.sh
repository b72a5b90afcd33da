#!/usr/bin/env bash
# Measures the networks on a GPU, beside PyTorch where that is installed; raw numbers go to docs/benchmarks/infer.json.
# bench-infer.sh [flags of `facetrack bench infer`…]
# FACETRACK_BIN is the program, built when it is not set; OUT replaces the file.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${FACETRACK_BIN:-}" ]; then
	make --no-print-directory build
	FACETRACK_BIN=bin/facetrack
fi
[ -x "$FACETRACK_BIN" ] || {
	echo "bench-infer: no program $FACETRACK_BIN: build it with make build, or name one with FACETRACK_BIN" >&2
	exit 1
}
results=docs/benchmarks
[ -z "${FACETRACK_LIBCUDA:-}" ] || results=$(mktemp -d) # figures of an imitated driver are no results
OUT=${OUT:-$results/infer.json}
mkdir -p "$(dirname "$OUT")"
"$FACETRACK_BIN" bench infer --script scripts/bench/torch_infer.py --json "$OUT" "$@"
echo "bench-infer: raw numbers in $OUT"

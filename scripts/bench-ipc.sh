#!/usr/bin/env bash
# Compares the ways of a frame from one process to a kernel of another; raw numbers go to docs/benchmarks/ipc.json.
# bench-ipc.sh [--mps] [flags of `facetrack bench ipc`…]
# --mps runs it with NVIDIA's Multi-Process Service, a daemon of its own: docs/benchmarks/ipc-mps.json; --awake: ipc-awake.json. What is no full
# result (--quick, no GPU, an imitated driver) goes to a temporary file.
# FACETRACK_BIN is the program, built when it is not set; OUT replaces the file.
set -euo pipefail
cd "$(dirname "$0")/.."
mps= awake= whole=1 flags=()
for flag in "$@"; do
	case $flag in
	--mps) mps=-mps && continue ;;
	--awake) awake=-awake ;;
	--quick) whole= ;;
	esac
	flags+=("$flag")
done
set -- ${flags[@]+"${flags[@]}"}
nvidia-smi -L 2>/dev/null | grep -q '^GPU' || whole=
[ -z "${FACETRACK_LIBCUDA:-}" ] || whole=

if [ -z "${FACETRACK_BIN:-}" ]; then
	make --no-print-directory build
	FACETRACK_BIN=bin/facetrack
fi
[ -x "$FACETRACK_BIN" ] || {
	echo "bench-ipc: no program $FACETRACK_BIN: build it with make build, or name one with FACETRACK_BIN" >&2
	exit 1
}
results=docs/benchmarks
[ -n "$whole" ] || results=$(mktemp -d)
OUT=${OUT:-$results/ipc$mps$awake.json}
mkdir -p "$(dirname "$OUT")"

if [ -n "$mps" ]; then
	command -v nvidia-cuda-mps-control >/dev/null || {
		echo "bench-ipc: nvidia-cuda-mps-control is not here: it comes with the driver" >&2
		exit 1
	}
	folder=$(mktemp -d)
	# These lead to the daemon that is started here and to no other.
	export CUDA_MPS_PIPE_DIRECTORY=$folder/pipe CUDA_MPS_LOG_DIRECTORY=$folder/log
	mkdir "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
	stop() {
		echo quit -t 5 | timeout 20 nvidia-cuda-mps-control >/dev/null 2>&1 || true
		rm -rf "$folder"
	}
	trap stop EXIT
	trap 'exit 130' INT TERM
	nvidia-cuda-mps-control -d
	set -- --mps on "$@"
fi
status=0
"$FACETRACK_BIN" bench ipc --script scripts/bench/torch_ipc.py --json "$OUT" "$@" || status=$?
[ $status -ne 0 ] || echo "bench-ipc: raw numbers in $OUT"
exit $status

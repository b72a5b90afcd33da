#!/usr/bin/env bash
# Compares the ways of a frame from one process to a kernel of another; raw numbers go to docs/benchmarks/ipc.json.
# bench-ipc.sh [--mps | --only-mps] [flags of `facetrack bench ipc`…]
# --mps runs a second time with NVIDIA's Multi-Process Service, a daemon of its own: docs/benchmarks/ipc-mps.json.
# FACETRACK_BIN is the program, built when it is not set; OUT and OUT_MPS replace the files.
set -euo pipefail
cd "$(dirname "$0")/.."
plain=1 mps=
case ${1:-} in
--mps) mps=1 && shift ;;
--only-mps) mps=1 plain= && shift ;;
esac

if [ -z "${FACETRACK_BIN:-}" ]; then
	[ -f Makefile ] && command -v go >/dev/null && make --no-print-directory build
	FACETRACK_BIN=bin/facetrack
fi
[ -x "$FACETRACK_BIN" ] || {
	echo "bench-ipc: no program $FACETRACK_BIN: build it with make build, or name one with FACETRACK_BIN" >&2
	exit 1
}
results=docs/benchmarks
[ -z "${FACETRACK_LIBCUDA:-}" ] || results=$(mktemp -d) # figures of an imitated driver are no results
mkdir -p "$results"

run() { # file, flags…
	local out=$1
	shift
	"$FACETRACK_BIN" bench ipc --torch-script scripts/bench/torch_ipc.py --json "$out" "$@"
	echo "bench-ipc: raw numbers in $out"
}

status=0
[ -z "$plain" ] || run "${OUT:-$results/ipc.json}" "$@" || status=$?
[ -n "$mps" ] || exit $status

command -v nvidia-cuda-mps-control >/dev/null || {
	echo "bench-ipc: nvidia-cuda-mps-control is not here: it comes with the driver" >&2
	exit 1
}
folder=$(mktemp -d)
export CUDA_MPS_PIPE_DIRECTORY=$folder/pipe CUDA_MPS_LOG_DIRECTORY=$folder/log
mkdir "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
# The variables above lead to this daemon and no other.
stop() {
	echo quit -t 5 | timeout 20 nvidia-cuda-mps-control >/dev/null 2>&1 || true
	rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT TERM
nvidia-cuda-mps-control -d
run "${OUT_MPS:-$results/ipc-mps.json}" --mps on "$@" || status=$?
exit $status

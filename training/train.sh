#!/usr/bin/env bash
# Trains both networks side by side on one GPU, then writes detector.onnx and face.onnx:
#   training/train.sh FOLDER [MINUTES]
# MINUTES ends this piece early (default: all TOTAL_MINUTES, 20); the same command goes on where it ended.
# SEED (1), FACE_FLAGS and DETECTOR_FLAGS go to train.py. Rendering processes share the GPU through MPS where its control program is there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
out=$(realpath -m "$1")
total=${TOTAL_MINUTES:-20}
minutes=${2:-$total}
python=${PYTHON:-python3}
mkdir -p "$out"

jobs_of_mine=()
finish() {
	for job in "${jobs_of_mine[@]}"; do kill -TERM "$job" 2>/dev/null && wait "$job"; done
	[ -z "${mps:-}" ] || echo quit | nvidia-cuda-mps-control >/dev/null
}
trap finish EXIT
if command -v nvidia-cuda-mps-control >/dev/null && [ -z "${CUDA_MPS_PIPE_DIRECTORY:-}" ]; then
	export CUDA_MPS_PIPE_DIRECTORY=$out/mps CUDA_MPS_LOG_DIRECTORY=$out/mps
	mkdir -p "$out/mps"
	nvidia-cuda-mps-control -d && mps=1 || unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
fi

# train KIND FLAGS… starts one; a learning rate that falls to its end needs the same total in every piece.
train() {
	local kind=$1
	shift
	PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True "$python" "$here/train.py" "$kind" --out "$out/$kind" --seed "${SEED:-1}" \
		--total-minutes "$total" --minutes "$minutes" "$@" >>"$out/$kind.txt" 2>&1 &
	jobs_of_mine+=($!)
}
# shellcheck disable=SC2086 # flags
train face --renderers 5 --batch 192 --every 14 --window 400 ${FACE_FLAGS:-}
# Scenes are made smaller for the detector, which smooths their edges.
# shellcheck disable=SC2086
train detector --over 1 --renderers 4 --batch 96 --every 40 --window 200 ${DETECTOR_FLAGS:-}

status=0
for job in "${jobs_of_mine[@]}"; do wait "$job" || status=$?; done
jobs_of_mine=()
for kind in face detector; do
	tail -n 2 "$out/$kind.txt"
	[ ! -f "$out/$kind/state.pt" ] || "$python" "$here/export.py" "$kind" --checkpoint "$out/$kind/state.pt" --out "$out/$kind.onnx"
done
exit $status

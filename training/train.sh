#!/usr/bin/env bash
# Trains the detector, then the face network, on one GPU, and writes detector.onnx and face.onnx:
#   training/train.sh FOLDER [MINUTES]
# MINUTES ends this piece early; the same command goes on where it ended. DETECTOR_MINUTES (9) and FACE_MINUTES (14) are the time of each.
# With GPUS="0 1" each has a GPU of its own, at the same time. SEED (1), FACE_FLAGS and DETECTOR_FLAGS go to train.py. Rendering processes
# share a GPU through MPS where its control program is there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n '2,6s/^# //p' "$0" >&2; exit 2; }
out=$(realpath -m "$1")
piece=${2:-100000}
python=${PYTHON:-python3}
read -ra gpus <<<"${GPUS:-}"
mkdir -p "$out"

# on GPU COMMAND…: with an MPS server of its own. Without a number it is the GPU that there is.
on() (
	if [ -n "$1" ]; then export CUDA_VISIBLE_DEVICES=$1; fi
	shift
	if command -v nvidia-cuda-mps-control >/dev/null && [ -z "${CUDA_MPS_PIPE_DIRECTORY:-}" ]; then
		export CUDA_MPS_PIPE_DIRECTORY=$out/mps$BASHPID
		export CUDA_MPS_LOG_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY
		mkdir -p "$CUDA_MPS_PIPE_DIRECTORY"
		if nvidia-cuda-mps-control -d; then
			trap 'echo quit | nvidia-cuda-mps-control >/dev/null' EXIT
			if [ -n "${CUDA_VISIBLE_DEVICES:-}" ]; then export CUDA_VISIBLE_DEVICES=0; fi # the server's only one
		else
			unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
		fi
	fi
	"$@"
)

# train KIND TOTAL FLAGS…: a learning rate that falls to its end needs the same total in every piece.
train() {
	local kind=$1 total=$2 left
	shift 2
	left=$("$python" -c "print(max(0, $piece - $SECONDS / 60))")
	if [ "$left" = 0 ]; then return; fi
	PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True "$python" "$here/train.py" "$kind" --out "$out/$kind" --seed "${SEED:-1}" \
		--total-minutes "$total" --minutes "$left" "$@" >>"$out/$kind.txt" 2>&1 &
	echo $! >"$out/$kind.pid"
	wait $!
	rm "$out/$kind.pid"
	tail -n 2 "$out/$kind.txt"
	"$python" "$here/export.py" "$kind" --checkpoint "$out/$kind/state.pt" --out "$out/$kind.onnx"
}

# Scenes are made smaller for the detector, which smooths their edges.
# shellcheck disable=SC2086 # flags
detector() { train detector "${DETECTOR_MINUTES:-9}" --over 1 --renderers 8 --batch 96 --every 40 --window 200 ${DETECTOR_FLAGS:-}; }
# shellcheck disable=SC2086
face() { train face "${FACE_MINUTES:-14}" --renderers 8 --batch 192 --every 32 --window 600 ${FACE_FLAGS:-}; }

# A training that is told to end saves what it has.
ends() {
	for file in "$out"/*.pid; do if [ -e "$file" ]; then kill -TERM "$(cat "$file")" 2>/dev/null || true; fi; done
}
trap 'stopped=yes; ends' TERM INT
rm -f "$out"/*.pid

jobs_of_mine=()
if [ "${#gpus[@]}" -gt 1 ]; then
	on "${gpus[0]}" face &
	jobs_of_mine+=($!)
	on "${gpus[1]}" detector &
else
	(on "${gpus[0]:-}" detector && on "${gpus[0]:-}" face) &
fi
jobs_of_mine+=($!)
status=0
for job in "${jobs_of_mine[@]}"; do
	wait "$job" || status=$?
	if [ "${stopped:-}" = yes ]; then wait "$job" || status=$?; fi # the signal ended the first wait
done
exit "$status"

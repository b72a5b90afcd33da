#!/usr/bin/env bash
# Everything that needs a real GPU, on a machine that need not be able to build: runs what scripts/gpu-pack.sh has packed into .gpu/.
# gpu-check.sh [part…]   parts: probe unit nets media sanitize wear infer cameras torn kill soak e2e doctor bench mps; without any, all of them
# OUT (./gpu-out) gets gpu-check.log, results.jsonl, summary.txt and what bench writes; TIMEOUT replaces each part's time in seconds.
# FACETRACK_TORN_FRAMES, FACETRACK_TORN_SECONDS, FACETRACK_SOAK_KILLS, FACETRACK_SOAK_RIGS and their siblings set the scale; SANITIZE, SANITIZE_SECONDS,
# INFER_FLAGS and CAMERAS_FLAGS add flags to what those parts run; CAMERAS_THREADS=1 measures cameras by threads too, MPS_CAMERAS=1 with mps.
set -uo pipefail
cd "$(dirname "$0")/.."
repo=$PWD
out=$(realpath -m "${OUT:-gpu-out}")
mkdir -p "$out"
log=$out/gpu-check.log
: >"$log" && : >"$out/results.jsonl"

dir=$(realpath -m "${GPU_DIR:-.gpu}")
beside=$dir # the pack: models, recordings, frames
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -f "$dir/pack.tar.xz" ]; then
	unpack=(xz -dc)
	command -v xz >/dev/null || unpack=(python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.stdin.buffer), sys.stdout.buffer)')
	mkdir "$work/pack" && "${unpack[@]}" <"$dir/pack.tar.xz" | tar -C "$work/pack" -xf - || exit 1
	dir=$work/pack
fi
[ -x "$dir/facetrack" ] || {
	echo "gpu-check: no programs in $dir: make them with scripts/gpu-pack.sh" >&2
	exit 1
}
export FACETRACK_BIN=$dir/facetrack LD_LIBRARY_PATH=$dir/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
rows=()
failed=0

# with_assets lets what follows in a part find the public models and recordings.
with_assets() {
	[ -n "${FACETRACK_ASSETS:-}" ] || [ ! -d "$beside/assets" ] || export FACETRACK_ASSETS=$beside/assets
	[ -n "${FACETRACK_FRAMES:-}" ] || [ ! -d "$beside/frames" ] || export FACETRACK_FRAMES=$beside/frames
}
# test_program NAME FOLDER ARGUMENTS… runs a test program where its package lies.
test_program() {
	local name=$1 folder=$2
	shift 2
	(cd "$repo/$folder" && "$dir/$name" -test.v -test.count=1 -test.timeout="${seconds}s" "$@")
}

probe() {
	local bad=0
	echo "commit $(cat "$dir/commit")"
	uname -a
	nproc
	df -h /dev/shm
	ulimit -l
	nvidia-smi || bad=1
	nvidia-smi -L
	nvidia-smi --query-gpu=name,uuid,driver_version,compute_mode,mig.mode.current,pcie.link.gen.current,pcie.link.width.current --format=csv
	if command -v gcc >/dev/null; then
		scripts/check-cuda-abi.sh || bad=1
	else
		echo "--- SKIP: no gcc on this machine, so our cuda.h is compared with no toolkit's"
	fi
	return $bad
}
unit() {
	local bad=0
	export TMPDIR=/dev/shm # rings in page-locked memory need a tmpfs
	test_program kernels.test internal/kernels || bad=1
	test_program cuda.test internal/cuda || bad=1
	test_program gpuring.test gpuring || bad=1
	test_program ipc.test ipc || bad=1
	test_program links.test internal/stage/links || bad=1
	test_program capture.test internal/stage/capture || bad=1
	test_program nvml.test internal/nvml || bad=1
	test_program doctor.test internal/doctor || bad=1
	return $bad
}
# The kernels of networks and pictures, and whole networks where the public models are.
nets() {
	local bad=0
	export TMPDIR=/dev/shm # rings in page-locked memory need a tmpfs
	with_assets
	test_program nn.test internal/kernels/nn || bad=1
	test_program image.test internal/kernels/image || bad=1
	test_program faces.test internal/kernels/faces || bad=1
	test_program infer.test infer/cuda || bad=1
	test_program golden.test infer/goldentest || bad=1
	test_program captured.test internal/cuda/captured || bad=1
	test_program vision.test internal/gpuvision || bad=1
	test_program int8.test internal/inferbench/int8 || bad=1
	test_program detect.test internal/stage/detect || bad=1
	test_program landmarks.test internal/stage/landmarks || bad=1
	test_program nn.test internal/kernels/nn -test.run '^$' -test.bench . -test.benchtime 200x || bad=1
	test_program int8.test internal/inferbench/int8 -test.run '^$' -test.bench . -test.benchtime 100x || bad=1
	test_program vision.test internal/gpuvision -test.run '^$' -test.bench . -test.benchtime 300x || bad=1
	return $bad
}
# Every frame of the public recordings through the GPU and through plain Go.
media() { with_assets && test_program media.test test/gpu/media -test.run '^TestDrawn$|^TestMedia$'; }
wear() { test_program media.test test/gpu/media -test.run '^TestSoakVision$'; }
infer() {
	with_assets
	# shellcheck disable=SC2086 # flags
	OUT=$out/infer.json FACETRACK_BIN=$dir/facetrack scripts/bench-infer.sh ${INFER_FLAGS:-} && python3 scripts/bench/check_infer.py "$out/infer.json"
}
cameras() {
	local bad=0
	with_assets
	cameras_of processes,host-copy "" || bad=1
	[ "${CAMERAS_THREADS:-}" != 1 ] || cameras_of threads -threads || bad=1
	return $bad
}
# cameras_of MODES SUFFIX measures them in one run, so that they can be compared.
cameras_of() {
	# shellcheck disable=SC2086 # flags
	"$dir/facetrack" bench cameras "$beside/clip" --mode "$1" --backend cuda --from 64 --trial 10s --hold 60s --at-least 64 --ratio 4 ${CAMERAS_FLAGS:-} \
		--out "$out/cameras$2${mps_on:+-mps}.json"
}

# The kernels under NVIDIA's compute-sanitizer: accesses beyond their memory, and threads of a block that read what others are writing.
# Without the public models: drawn faces and small networks run the same kernels.
sanitize() {
	local bad=0 tool sanitizer
	sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -1)
	[ -n "$sanitizer" ] || {
		echo "gpu-check: no compute-sanitizer here: it comes with the CUDA toolkit"
		return 1
	}
	for tool in ${SANITIZE:-memcheck racecheck synccheck}; do
		sanitized faces.test internal/kernels/faces 'PTX'
		sanitized image.test internal/kernels/image 'PTX'
		sanitized nn.test internal/kernels/nn 'PTX'
		sanitized infer.test infer/cuda 'PTX|TestNetworks/[^s]|TestSession$'
		sanitized media.test test/gpu/media 'TestMedia|TestSoakVision'
	done
	return $bad
}
# sanitized NAME FOLDER LEFT_OUT runs a test program with $tool, for SANITIZE_SECONDS at most.
sanitized() {
	local begin=$SECONDS status=0
	echo "=== $tool $1"
	(cd "$repo/$2" && timeout "${SANITIZE_SECONDS:-150}" "$sanitizer" --tool "$tool" --error-exitcode 86 --report-api-errors no --print-limit 20 \
		"$dir/$1" -test.v -test.count=1 -test.short -test.skip "$3") || status=$?
	case $status in
	0) echo "--- PASS: $tool $1 ($((SECONDS - begin)) s)" ;;
	124) echo "--- FAIL: $tool $1 did not end in ${SANITIZE_SECONDS:-150} s (what had run until then was clean if nothing is said above)" && bad=1 ;;
	*) echo "--- FAIL: $tool $1 (status $status; 86 is what the sanitizer has found)" && bad=1 ;;
	esac
}
# The test's own limit comes before that of the part, so that it can say how far it came.
torn() {
	local most=$((seconds > 2 * torn_margin ? seconds - torn_margin : seconds / 2))
	[ "${FACETRACK_TORN_SECONDS:-$most}" -lt "$most" ] || local -x FACETRACK_TORN_SECONDS=$most
	test_program gpu.test test/gpu -test.run '^TestTornFrames'
}
torn_margin=60 # for what is no run of TestTornFrames
kill_() { test_program gpu.test test/gpu -test.run '^TestKilled|^TestWriterNeverWaits'; }
soak() { test_program gpu.test test/gpu -test.run '^TestSoak$'; }
e2e() { test_program e2e.test test/e2e ${E2E_RUN:+-test.run "$E2E_RUN"}; }
doctor() { "$dir/facetrack" doctor --json && "$dir/facetrack" doctor; }
bench() {
	if [ -x scripts/bench-ipc.sh ]; then
		OUT=$out/ipc${mps_on:+-mps}.json FACETRACK_BIN=$dir/facetrack scripts/bench-ipc.sh
	else
		"$dir/facetrack" bench ipc --out "$out/ipc${mps_on:+-mps}.json"
	fi
}

# With NVIDIA's multi-process service: less of each, the mechanisms are the same.
mps() {
	command -v nvidia-cuda-mps-control >/dev/null || {
		echo "gpu-check: no nvidia-cuda-mps-control here"
		return 1
	}
	export CUDA_MPS_PIPE_DIRECTORY=$work/mps/pipe CUDA_MPS_LOG_DIRECTORY=$work/mps/log mps_on=1
	mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
	nvidia-cuda-mps-control -d || return 1
	local bad=0
	test_program kernels.test internal/kernels || bad=1
	FACETRACK_TORN_FRAMES=${MPS_TORN_FRAMES:-200000} FACETRACK_TORN_UPLOADS=${MPS_TORN_FRAMES:-50000} FACETRACK_TORN_SECONDS=${MPS_TORN_SECONDS:-200} torn || bad=1
	FACETRACK_WRITER_KILLS=10 kill_ || bad=1
	FACETRACK_SOAK_KILLS=${MPS_SOAK_KILLS:-40} FACETRACK_SOAK_RIGS=${MPS_SOAK_RIGS:-4} soak || bad=1
	doctor || bad=1
	bench || bad=1
	[ -z "${MPS_CAMERAS:-}" ] || cameras || bad=1
	# Last: whatever is a client of the MPS server now loses its context.
	test_program gpu.test test/gpu -test.run '^TestLostContext$' || bad=1
	test_program e2e.test test/e2e -test.run '^TestLostContexts$' || bad=1
	tail -n 20 "$CUDA_MPS_LOG_DIRECTORY"/*
	return $bad
}

# end_mps ends the service, also when the part ran out of time.
end_mps() {
	[ -d "$work/mps" ] && echo quit -t 5 | CUDA_MPS_PIPE_DIRECTORY=$work/mps/pipe timeout 20 nvidia-cuda-mps-control >>"$log" 2>&1
}

# part NAME SECONDS runs one part and makes a row of the table; the whole goes on whatever happens.
part() {
	local name=$1
	seconds=${TIMEOUT:-$2}
	local begin=$SECONDS from
	from=$(wc -l <"$log")
	echo "===== $name" | tee -a "$log"
	local function=$name
	[ "$name" = kill ] && function=kill_
	( # a process group of its own, ended as a whole when its time is over
		set -m
		"$function" >>"$log" 2>&1 &
		child=$!
		(sleep $((seconds + 10)) && echo "gpu-check: $name ran out of time" >>"$log" && kill -TERM -- -$child && sleep 5 && kill -KILL -- -$child) 2>/dev/null &
		watch=$!
		wait $child
		status=$?
		kill -- -$watch 2>/dev/null
		exit $status
	)
	local status=$? result=ok
	[ "$name" = mps ] && end_mps
	[ $status -eq 0 ] || { result="FAILED ($status)" && failed=1; }
	tail -n "+$((from + 1))" "$log" | results >>"$out/results.jsonl"
	rows+=("$(printf '%-7s %-12s %5ss  %s' "$name" "$result" $((SECONDS - begin)) "$(numbers "$from")")")
	echo "${rows[-1]}"
	[ $status -eq 0 ] || tail -n "+$((from + 1))" "$log" | grep -E '^\s*(--- FAIL|panic|FAIL)|_test.go:|^facetrack: ' | grep -v RESULT | head -20
}

# results are the lines of a log that are, each with what was checked, and when.
results() { sed -n "s/.*RESULT {/{\"commit\":\"$(cat "$dir/commit")\",\"date\":\"$(date -u +%FT%TZ)\",/p"; }

# numbers says in a few words what the log of a part holds from a line on.
numbers() {
	tail -n "+$(($1 + 1))" "$log" | awk '
		/--- PASS/ { pass++ } /--- FAIL/ { fail++ } /--- SKIP/ { skip++ }
		/RESULT/ { n = split("checked torn kills late known_after_max_s slots_back_s begin_max_us frames faces beyond points_px blendshapes", keys, " ")
			for (i = 1; i <= n; i++) if (match($0, "\"" keys[i] "\":[0-9.]+(e-?[0-9]+)?")) text = text " " substr($0, RSTART + 1, RLENGTH - 1) }
		END { gsub("\":", "=", text); if (pass + fail + skip) printf "%d passed, %d failed, %d skipped", pass, fail, skip; print text }'
}

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(probe unit nets media sanitize wear infer cameras torn kill soak e2e doctor bench mps)
for p in "${parts[@]}"; do
	case $p in
	probe | doctor) part "$p" 60 ;;
	unit | kill) part "$p" 240 ;;
	infer) part "$p" 480 ;;
	nets) part "$p" 420 ;;
	wear) part "$p" $((${FACETRACK_SOAK_SECONDS:-60} + 120)) ;;
	torn) part "$p" $((${FACETRACK_TORN_SECONDS:-480} + torn_margin)) ;;
	bench) part "$p" 420 ;;
	cameras) part "$p" $((${CAMERAS_THREADS:-0} == 1 ? 900 : 560)) ;;
	media | sanitize | soak | e2e | mps) part "$p" 560 ;;
	*) echo "gpu-check: no part $p" >&2 && failed=1 ;;
	esac
done
{
	echo "commit $(cat "$dir/commit"), $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -1)"
	printf '%s\n' "${rows[@]}"
} | tee "$out/summary.txt"
exit $failed

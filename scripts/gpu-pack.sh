#!/usr/bin/env bash
# Builds what scripts/gpu-check.sh runs on a machine with a GPU into .gpu/pack.tar.xz: the program and the test programs, stripped,
# with the shared libraries that such a machine may lack. DRIVER=fake leaves the tag gpu out: a rehearsal with the imitated driver.
# GPU_DIR replaces .gpu. Beside the pack go, where they are, the public models and recordings (assets), and with ffmpeg the videos as pictures.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${GPU_DIR:-.gpu}
gpu=gpu
[ "${DRIVER:-}" = fake ] && gpu=
export CGO_CFLAGS="-O2 -g -Wno-deprecated-declarations '-I$PWD/internal/cuda/include'" CGO_LDFLAGS="-O2 -g '-L$PWD/internal/cuda/lib'" # quoted for a folder with spaces
commit=$(git describe --always --dirty 2>/dev/null || echo unknown)
ldflags="-s -w -X facetrack/internal/version.commit=$commit"
limit=50000000 # bytes that a pack may have
mkdir -p "$out"
rm -f "$out"/pack.tar.*
stage=$(mktemp -d "$out/pack.XXXXXX")
trap 'rm -rf "$stage"' EXIT
mkdir "$stage/lib"

echo "gpu-pack: facetrack" >&2
go build -tags 'cuda xnnpack' -ldflags "$ldflags" -o "$stage/facetrack" ./cmd/facetrack
for name in capture detect landmarks tracker lsl-out; do # the programs of the stages are the same program
	printf '#!/bin/sh\nexec "$(dirname "$0")/facetrack" stage %s "$@"\n' "$name" >"$stage/$name"
	chmod +x "$stage/$name"
done
pack() { # name, package, more tags
	echo "gpu-pack: $1" >&2
	go test -c -tags "cuda $gpu $3" -ldflags "$ldflags" -o "$stage/$1" "$2"
}
pack kernels.test ./internal/kernels ''
pack nn.test ./internal/kernels/nn ''
pack image.test ./internal/kernels/image ''
pack faces.test ./internal/kernels/faces ''
pack infer.test ./infer/cuda ''
pack golden.test ./infer/goldentest ''
pack captured.test ./internal/cuda/captured ''
pack vision.test ./internal/gpuvision ''
pack media.test ./test/gpu/media ''
pack int8.test ./internal/inferbench/int8 ''
pack detect.test ./internal/stage/detect ''
pack landmarks.test ./internal/stage/landmarks ''
pack cuda.test ./internal/cuda ''
pack gpuring.test ./gpuring ''
pack ipc.test ./ipc ''
pack links.test ./internal/stage/links ''
pack capture.test ./internal/stage/capture ''
pack nvml.test ./internal/nvml ''
pack doctor.test ./internal/doctor ''
pack gpu.test ./test/gpu ''
pack e2e.test ./test/e2e 'e2e xnnpack'

assets=${FACETRACK_ASSETS:-../shared/assets}
if [ -d "$assets/models" ] && [ "$(realpath "$assets")" != "$(realpath -m "$out/assets")" ]; then
	rm -rf "$out/assets" && mkdir "$out/assets"
	for folder in models media golden; do
		[ ! -d "$assets/$folder" ] || (mkdir "$out/assets/$folder" && cp "$assets/$folder"/* "$out/assets/$folder/" && chmod -R u+w "$out/assets/$folder")
	done
fi
if command -v ffmpeg >/dev/null && [ -d "$out/assets/media" ]; then
	scripts/frames.sh "$out/assets/media" "$out"
else
	echo "gpu-pack: no ffmpeg or no recordings: the parts media and cameras will have no frames" >&2
fi

# Libraries of inference; those of the system itself are everywhere.
ldd "$stage/facetrack" "$stage/e2e.test" | awk '$3 ~ "^/" && $1 !~ /^(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+)\.so/ { print $3 }' |
	sort -u | while read -r library; do cp -L "$library" "$stage/lib/"; done
echo "$commit" >"$stage/commit"
# The programs have most of their code in common: a dictionary as large as all of them makes one of it.
tar -C "$stage" -cf - . | xz --x86 --lzma2=preset=1,dict=128MiB >"$out/pack.tar.xz"
(cd "$stage" && du -h --apparent-size -- *) >&2
ls -l "$out/pack.tar.xz" >&2
[ "$(stat -c %s "$out/pack.tar.xz")" -le $limit ] || {
	echo "gpu-pack: the pack has more than $limit bytes" >&2
	exit 1
}

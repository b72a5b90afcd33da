#!/usr/bin/env bash
# Takes videos apart with ffmpeg for machines that cannot decode them: each becomes a folder of JPEG pictures, and one of them a clip of 1920×1080.
# frames.sh [folder of videos [folder to write]]   else media of $FACETRACK_ASSETS or ../shared/assets, and $GPU_DIR or .gpu
# FOLDER/frames is what FACETRACK_FRAMES names for test/gpu, FOLDER/clip is for facetrack bench cameras. CLIP (yes.mkv) names its video.
set -euo pipefail
cd "$(dirname "$0")/.."
media=${1:-${FACETRACK_ASSETS:-../shared/assets}/media}
out=${2:-${GPU_DIR:-.gpu}}
clip=$media/${CLIP:-yes.mkv}
command -v ffmpeg >/dev/null || {
	echo "frames: no ffmpeg here (on Debian: apt install ffmpeg)" >&2
	exit 1
}
shopt -s nullglob
videos=("$media"/*.mkv "$media"/*.mp4)
[ ${#videos[@]} -gt 0 ] || {
	echo "frames: no videos in $media; docs/assets.md says where they come from" >&2
	exit 1
}
pictures() { # folder, video, options of ffmpeg…
	local folder=$1 video=$2
	shift 2
	rm -rf "$folder" && mkdir -p "$folder"
	ffmpeg -v error -nostdin -i "$video" "$@" "$folder/%04d.jpg"
}
rm -rf "$out/frames"
for video in "${videos[@]}"; do
	name=$(basename "$video")
	pictures "$out/frames/${name%.*}" "$video" -q:v 3
done
pictures "$out/clip" "$clip" -vf 'scale=-2:1080:flags=bicubic,pad=1920:1080:(ow-iw)/2:0' -q:v 5
du -sh "$out/frames" "$out/clip" >&2

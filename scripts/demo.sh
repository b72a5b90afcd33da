#!/usr/bin/env bash
# Tracks the two people of a short public clip and records them.
set -euo pipefail
cd "$(dirname "$0")/.."

clip_name=head-pose-face-detection-female-and-male.gif
clip_sha=f51c743e43848014811ad5f3daddc417754cdeb55a16d46002e0d2ccd4541b0f
clip_url=https://raw.githubusercontent.com/intel-iot-devkit/sample-videos/57978890822836f2b4743852f04f62fc511757e4/preview/$clip_name
cache=${XDG_CACHE_HOME:-$HOME/.cache}/facetrack/media

bin/facetrack models fetch ||
	echo "demo: without the public models the program's own networks run; docs/assets.md says where to put the public ones" >&2

clip=
for dir in ${FACETRACK_ASSETS:+"$FACETRACK_ASSETS/media"} ../shared/assets/media "$cache"; do
	[ -f "$dir/$clip_name" ] && clip=$dir/$clip_name && break
done
if [ -z "$clip" ]; then
	mkdir -p "$cache"
	echo "demo: fetching $clip_name (CC-BY-4.0, intel-iot-devkit/sample-videos)"
	curl -fsSL --retry 2 -o "$cache/$clip_name.part" "$clip_url" || {
		echo "demo: the clip cannot be fetched; put it into a folder media/ and set FACETRACK_ASSETS (docs/assets.md)" >&2
		exit 1
	}
	mv "$cache/$clip_name.part" "$cache/$clip_name"
	clip=$cache/$clip_name
fi
echo "$clip_sha  $clip" | sha256sum --check --quiet || {
	echo "demo: $clip is not the published clip; delete it and try again" >&2
	exit 1
}

mkdir -p recordings
record=recordings/demo-$(date +%Y%m%d-%H%M%S).jsonl
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
bin/facetrack up --source "$clip" --loop --duration "${DEMO_SECONDS:-15}s" --rig demo --listen 127.0.0.1:-1 --data-dir "$data" \
	--record "$record" --summary "${record%.jsonl}.json"

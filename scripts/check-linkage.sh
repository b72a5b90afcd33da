#!/usr/bin/env bash
# Fails when a program names a library of NVIDIA among those that it cannot start without.
set -euo pipefail

for program in "$@"; do
	if readelf -d "$program" | grep -E 'NEEDED.*lib(cuda|nvidia|nvrtc|nvjpeg|cudnn)'; then
		echo "$program would not start without the library above; CGO_LDFLAGS must name internal/cuda/lib" >&2
		exit 1
	fi
done

#!/usr/bin/env bash
# Installs what building facetrack needs: Debian 12 or Ubuntu 24.04. Does nothing when it is all there.
set -euo pipefail

packages=(build-essential ca-certificates curl pkg-config libopencv-dev libopencv-contrib-dev libxnnpack-dev libpthreadpool-dev libxdf-dev)
go_needed=1.26

missing=()
for p in "${packages[@]}"; do
	dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q '^install ok installed' || missing+=("$p")
done

if [ ${#missing[@]} -gt 0 ]; then
	command -v apt-get >/dev/null || {
		echo "setup: no apt-get here; install the equivalents of: ${missing[*]}" >&2
		exit 1
	}
	install='apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends '"${missing[*]}"
	echo "setup: installing ${missing[*]}"
	if [ "$(id -u)" -eq 0 ]; then
		sh -c "$install"
	elif command -v sudo >/dev/null; then
		sudo sh -c "$install" # one call: asks once
	else
		echo "setup: run as root: apt-get install ${missing[*]}" >&2
		exit 1
	fi
fi

command -v go >/dev/null || {
	echo "setup: Go $go_needed or newer is needed: https://go.dev/dl" >&2
	exit 1
}
have=$(go env GOVERSION | sed 's/^go//')
if [ "$(printf '%s\n%s\n' "$go_needed" "$have" | sort -V | head -1)" != "$go_needed" ]; then
	echo "setup: Go $go_needed or newer is needed, this is $have: https://go.dev/dl" >&2
	exit 1
fi

"$(dirname "$0")/liblsl.sh"

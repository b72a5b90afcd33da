#!/usr/bin/env bash
# Makes the Debian package bin/facetrack_VERSION_ARCH.deb for the release of Debian or Ubuntu that it runs on, whose libraries the
# programs need, from the files that scripts/install.sh installs.
#
#   scripts/deb.sh [DIR]    DIR has the built programs, and gets the package; bin without it
set -euo pipefail
bin=$(realpath -m -- "${1:-"$(dirname "$0")/../bin"}")
cd "$(dirname "$0")/.."
[ -x "$bin/capture" ] || {
	echo "deb: no programs in $bin: make build" >&2
	exit 1
}
nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
scripts/install.sh --bin "$bin" --prefix /usr --destdir "$work/root"
# dpkg-shlibdeps wants to see a source package.
mkdir "$work/debian"
printf 'Source: facetrack\n\nPackage: facetrack\nArchitecture: any\n' >"$work/debian/control"
needs=$(cd "$work" && dpkg-shlibdeps -O root/usr/bin/facetrack root/usr/lib/facetrack/{capture,detect,landmarks,tracker,lsl-out} 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
version=$(sed -n 's/^const SemVer = "\(.*\)"/\1/p' internal/version/version.go)
arch=$(dpkg --print-architecture)
{
	cat <<Y
name: facetrack
arch: $arch
platform: linux
version: $version
section: science
priority: optional
maintainer: $(git log -1 --format='%an <%ae>' 2>/dev/null || echo facetrack)
license: Apache-2.0
description: |
  real-time face tracking from several cameras, for laboratories
  Tracks faces from several cameras and gives identities, points, expressions and head poses as streams of Lab Streaming Layer and as
  NATS messages. Runs as a group of services of systemd.
depends:
$(tr ',' '\n' <<<"$needs, systemd (>= 252)" | sed 's/^ *\(.*\)$/  - "\1"/')
contents:
  - {src: $work/root/usr, dst: /usr, type: tree}
  - {src: $work/root/etc/facetrack/facetrack.yaml, dst: /etc/facetrack/facetrack.yaml, type: config|noreplace}
  - {src: $work/root/etc/facetrack/facetrack.env, dst: /etc/facetrack/facetrack.env, type: config|noreplace}
scripts:
  postinstall: deploy/deb/postinst
  preremove: deploy/deb/prerm
  postremove: deploy/deb/postrm
Y
} >"$work/nfpm.yaml"
go run "$nfpm" package --config "$work/nfpm.yaml" --packager deb --target "$bin/facetrack_${version}_$arch.deb"

#!/usr/bin/env bash
# Fetches the real liblsl (1.12, MIT), with which the tests of package lsl read our streams. Nothing else needs it: without
# it they are skipped, and this ends well. Does nothing when it is there.
set -euo pipefail
cd "$(dirname "$0")/.."

package=node-lsl@0.1.0 # carries a build for this machine's kind
member=package/prebuilt/liblsl64.so
sha=13f1ba640400ceca418737417cbee832f884a7aa061a7caee236ea9895f32f6a
lib=.cache/liblsl/liblsl64.so

without() {
	echo "setup: tests that read with the real liblsl are skipped: $1" >&2
	exit 0
}
is_published() { echo "$sha  $1" | sha256sum --check --quiet >/dev/null 2>&1; }

[ -z "${LIBLSL:-}" ] || exit 0 # the tests take that one
is_published $lib && exit 0
[ "$(uname -sm)" = "Linux x86_64" ] || without "there is no build for $(uname -sm); set LIBLSL to one"
command -v npm >/dev/null || without "npm is missing, which fetches it; or set LIBLSL to a liblsl.so"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm pack --loglevel error --pack-destination "$work" $package >/dev/null 2>"$work/errors" ||
	without "npm cannot fetch $package: $(grep -m1 . "$work/errors" || echo 'it does not say why')"
tar -xzf "$work"/*.tgz -C "$work" $member || without "$package has no $member"
is_published "$work/$member" || without "$package is not the published one"
missing=$(ldd "$work/$member" | awk '/not found/ {printf "%s ", $1}')
[ -z "$missing" ] || without "it needs libraries that are not here: $missing"
mkdir -p "$(dirname $lib)"
cp "$work/$member" $lib.part
mv $lib.part $lib # at once: tests may look for it meanwhile
echo "setup: fetched liblsl 1.12 ($package) for tests"

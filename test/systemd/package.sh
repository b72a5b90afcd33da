#!/usr/bin/env bash
# The Debian package: what is in it, and that it installs, runs, is upgraded and goes again on a machine of its own.
#
#   test/systemd/package.sh [DIR]    DIR has the built programs and the package; bin without it
set -euo pipefail
cd "$(dirname "$0")/../.."
programs=$(realpath "${1:-bin}")
test=package
package=$(find "$programs" -maxdepth 1 -name 'facetrack_*.deb' | sort | tail -1)
[ -n "$package" ] || {
	echo "FAIL package: none in $programs: make deb" >&2
	exit 1
}

listed=$(dpkg-deb --fsys-tarfile "$package" | tar -t | sed 's|^\.||; s|/$||' | sort)
for file in /usr/bin/facetrack /usr/sbin/facetrack-group /etc/facetrack/facetrack.yaml /usr/lib/sysusers.d/facetrack.conf; do
	grep -qx "$file" <<<"$listed" || { echo "FAIL package: $file is not in it" >&2 && exit 1; }
done
for unit in deploy/systemd/*.service deploy/systemd/*.target; do
	grep -qx "/usr/lib/systemd/system/$(basename "$unit")" <<<"$listed" || { echo "FAIL package: $unit is not in it" >&2 && exit 1; }
done
[ "$(dpkg-deb --ctrl-tarfile "$package" | tar -xO ./conffiles)" = "$(printf '/etc/facetrack/facetrack.env\n/etc/facetrack/facetrack.yaml')" ] ||
	{ echo "FAIL package: the configuration is not marked as such" >&2 && exit 1; }

. test/systemd/machine.sh
inside tee /mnt/facetrack.deb <"$package" >/dev/null
files >"$work/before"

echo "install"
inside dpkg -i /mnt/facetrack.deb >"$work/log" 2>&1 || fail "$(cat "$work/log")"
grep -q 'no camera yet' "$work/log" || fail "not a word on cameras: $(cat "$work/log")"
inside cp /mnt/facetrack.yaml /etc/facetrack/facetrack.yaml
inside facetrack-group apply
inside facetrack-group restart
flows "the start"

echo "upgrade"
inside dpkg -i /mnt/facetrack.deb >"$work/log" 2>&1 || fail "$(cat "$work/log")"
inside cmp -s /mnt/facetrack.yaml /etc/facetrack/facetrack.yaml || fail "an edited configuration was overwritten"
flows "the upgrade"
inside install -D -m 644 /dev/null /etc/systemd/system/facetrack-detect@.service.d/override.conf
inside install -D -m 600 /dev/null /etc/credstore/facetrack.nats.creds

echo "remove"
inside dpkg -r facetrack >"$work/log" 2>&1 || fail "$(cat "$work/log")"
stopped
inside test -e /etc/facetrack/facetrack.yaml || fail "the configuration went without being purged"
inside test -e /etc/systemd/system/facetrack-detect@.service.d/override.conf || fail "a drop-in went without being purged"
inside dpkg -P facetrack >"$work/log" 2>&1 || fail "$(cat "$work/log")"
if [ ! -d /etc/credstore ]; then inside rmdir /etc/credstore; fi # systemd's folder, made above; empty
nothing_left
echo "ok: nothing is left"

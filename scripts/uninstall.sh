#!/usr/bin/env bash
# Removes what scripts/install.sh has installed. It may be run again.
#
#   scripts/uninstall.sh [--prefix DIR] [--purge]
#
#   --prefix DIR   where it was installed: /usr/local, or /usr
#   --purge        removes the configuration (/etc/facetrack), the data (/var/lib/facetrack), drop-ins, credentials and the user facetrack as well
set -euo pipefail
cd "$(dirname "$0")/.."

prefix=/usr/local how=remove
wrong() {
	echo "uninstall: $*" >&2
	exit 2
}
while [ $# -gt 0 ]; do
	case $1 in
	--prefix)
		case ${2:-} in '' | --*) wrong "$1 needs a value; see scripts/uninstall.sh --help" ;; esac
		prefix=$2
		shift
		;;
	--purge) how=purge ;;
	-h | --help)
		sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' scripts/uninstall.sh
		exit
		;;
	*) wrong "$1: unknown; see scripts/uninstall.sh --help" ;;
	esac
	shift
done
case $prefix in
/usr) other=/usr/local ;;
/usr/local) other=/usr ;;
*) wrong "--prefix $prefix: systemd looks for units in /usr and /usr/local alone" ;;
esac
if [ "$(id -u)" -ne 0 ]; then
	echo "uninstall: removing services needs root: sudo scripts/uninstall.sh" >&2
	exit 1
fi
if [ ! -e "$prefix/lib/facetrack/capture" ] && [ -e "$other/lib/facetrack/capture" ]; then
	echo "uninstall: facetrack is in $other: scripts/uninstall.sh --prefix $other, or apt remove facetrack" >&2
	exit 1
fi
if dpkg-query -S "$prefix/lib/facetrack/capture" >/dev/null 2>&1; then
	echo "uninstall: this is the package's: apt remove facetrack" >&2
	exit 1
fi

sh deploy/systemd/facetrack-group "$how"
rm -rf "$prefix/lib/facetrack" "$prefix/share/facetrack" "$prefix/share/doc/facetrack" "$prefix/lib/systemd/system/facetrack-.service.d"
rm -f "$prefix/bin/facetrack" "$prefix/sbin/facetrack-group" "$prefix/lib/sysusers.d/facetrack.conf"
for unit in deploy/systemd/*.service deploy/systemd/*.target; do rm -f "$prefix/lib/systemd/system/$(basename "$unit")"; done
# Folders that had nothing else in them.
rmdir "$prefix/lib/systemd/system" "$prefix/lib/systemd" "$prefix/lib/sysusers.d" "$prefix/share/doc" 2>/dev/null || true
if command -v systemctl >/dev/null && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ "$how" = remove ]; then
	rm -f /etc/facetrack/*.new
	for left in /etc/facetrack /var/lib/facetrack; do
		if [ -e "$left" ]; then echo "uninstall: $left stays, and the user facetrack; --purge removes them"; fi
	done
fi

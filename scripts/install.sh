#!/usr/bin/env bash
# Installs facetrack as a group of services of systemd, and starts it. It may be run again: what is the same stays, what is new is
# installed, and a configuration that was edited is never overwritten.
#
#   scripts/install.sh [--prefix DIR] [--config FILE] [--gpus "0 1"] [--nats yes|no] [--mps yes|no] [--no-start] [--bin DIR] [--destdir DIR]
#
#   --prefix DIR    /usr/local, or /usr
#   --config FILE   the configuration, where there is none yet; without it the example, which has no camera
#   --gpus LIST     instances of detect and landmarks: numbers of GPUs, or cpu; without it 0 where there is a GPU
#   --nats yes|no   whether the rig has a NATS server of its own; without it: unless another one is named
#   --mps yes|no    whether NVIDIA's MPS runs for it; no unless told
#   --no-start      installs and enables, but starts nothing
#   --bin DIR       programs that are built already; without it they are, with make build
#   --destdir DIR   puts the files there, for packages, and does nothing else
set -euo pipefail

changed=no
prefix=/usr/local bin=bin config='' dest='' start=yes built=no
usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; }
wrong() {
	echo "install: $*" >&2
	exit 2
}
while [ $# -gt 0 ]; do
	case $1 in
	--prefix | --config | --gpus | --nats | --mps | --bin | --destdir)
		case ${2:-} in '' | --*) wrong "$1 needs a value; see scripts/install.sh --help" ;; esac
		;;
	esac
	case $1 in
	--nats | --mps)
		case $2 in yes | no) ;; *) wrong "$1 $2: yes or no" ;; esac
		;;
	esac
	case $1 in
	--prefix) prefix=$2 ;;
	--config) config=$(realpath -m -- "$2") ;;
	--gpus) export GPUS=$2 ;;
	--nats) export NATS=$2 ;;
	--mps) export MPS=$2 ;;
	--bin) bin=$(realpath -m -- "$2") built=yes ;;
	--destdir) dest=$(realpath -m -- "$2") ;;
	--no-start)
		start=no
		shift
		continue
		;;
	-h | --help)
		usage
		exit
		;;
	*) wrong "$1: unknown; see scripts/install.sh --help" ;;
	esac
	shift 2
done
cd "$(dirname "$0")/.."
case $prefix in
/usr | /usr/local) ;;
*) wrong "--prefix $prefix: systemd looks for units in /usr and /usr/local alone" ;;
esac
if [ -n "$config" ] && [ ! -f "$config" ]; then wrong "--config $config: there is no such file"; fi
if [ "$built" = yes ]; then
	for program in facetrack capture detect landmarks tracker lsl-out; do
		[ -x "$bin/$program" ] || wrong "--bin $bin: there is no program $program; make build makes it"
	done
fi
if [ -z "$dest" ] && [ "$(id -u)" -ne 0 ]; then
	echo "install: installing services needs root: sudo scripts/install.sh" >&2
	exit 1
fi
if [ "$built" = no ]; then make --no-print-directory build; fi

other=/usr
if [ "$prefix" = /usr ]; then other=/usr/local; fi
if [ -z "$dest" ] && [ -e "$other/lib/facetrack/capture" ]; then
	echo "install: facetrack is in $other already: remove it there first (scripts/uninstall.sh --prefix $other, or apt remove facetrack)" >&2
	exit 1
fi
if [ -n "$config" ] && ! "$bin/facetrack" config check "$config" >/dev/null; then
	echo "install: --config $config cannot be used; nothing was changed" >&2
	exit 1
fi

# What was replaced and has not been started since, as when this was cut off, is started by the next installation.
stamp=$prefix/share/facetrack/restart
if [ -z "$dest" ] && [ -e "$stamp" ]; then changed=yes; fi

# put MODE FILE TARGET: programs are replaced, not overwritten, because the ones before may run.
put() {
	if cmp -s "$2" "$dest$3" && [ "$(stat -c %a "$dest$3")" = "$1" ]; then return; fi
	if [ -z "$dest" ] && [ "$changed" = no ]; then install -D -m 644 /dev/null "$stamp"; fi
	changed=yes
	install -D -m "$1" "$2" "$dest$3.new"
	mv -f "$dest$3.new" "$dest$3"
}

# adapt FILE: with the paths of this prefix.
adapted=$(mktemp -d)
trap 'rm -rf "$adapted"' EXIT
adapt() {
	sed -e "s|/usr/bin/facetrack|$prefix/bin/facetrack|g; s|/usr/lib/facetrack|$prefix/lib/facetrack|g; s|/usr/share/doc/facetrack|$prefix/share/doc/facetrack|g" "$1" >"$adapted/file"
	put "${3:-644}" "$adapted/file" "$2"
}

put 755 "$bin/facetrack" "$prefix/bin/facetrack"
for stage in capture detect landmarks tracker lsl-out; do put 755 "$bin/$stage" "$prefix/lib/facetrack/$stage"; done
put 644 deploy/systemd/backoff.conf "$prefix/lib/facetrack/backoff.conf"
adapt deploy/systemd/facetrack-group "$prefix/sbin/facetrack-group" 755
for unit in deploy/systemd/*.service deploy/systemd/*.target; do adapt "$unit" "$prefix/lib/systemd/system/$(basename "$unit")"; done
adapt deploy/systemd/facetrack-.service.d/10-common.conf "$prefix/lib/systemd/system/facetrack-.service.d/10-common.conf"
put 644 deploy/systemd/sysusers.conf "$prefix/lib/sysusers.d/facetrack.conf"
put 644 docs/systemd.md "$prefix/share/doc/facetrack/systemd.md"
put 644 LICENSE "$prefix/share/doc/facetrack/copyright"

if [ -n "$dest" ]; then
	put 644 facetrack.example.yaml "$prefix/share/facetrack/facetrack.example.yaml"
	put 644 facetrack.example.yaml /etc/facetrack/facetrack.yaml
	put 644 deploy/systemd/facetrack.env /etc/facetrack/facetrack.env
	exit
fi

# configure EXAMPLE NAME [FILE]: the example that was installed last lies in share, so that a file that is nobody's is known. FILE, which
# is somebody's, never lies there.
configure() {
	local at=/etc/facetrack/$2 last=$prefix/share/facetrack/${1##*/} new=${3:-$1}
	if [ ! -e "$at" ] || { cmp -s "$at" "$last" && ! cmp -s "$at" "$new"; }; then
		put 644 "$new" "$at"
	elif ! cmp -s "$at" "$new" && ! cmp -s "$new" "$last"; then
		install -m 644 "$new" "$at.new"
		echo "install: $at was edited and stays; the new one is $at.new"
	fi
	put 644 "$1" "$last"
}
install -d -m 750 /etc/facetrack
configure facetrack.example.yaml facetrack.yaml "$config"
configure deploy/systemd/facetrack.env facetrack.env

command -v systemctl >/dev/null || {
	echo "install: no systemctl here; the files are installed, and facetrack up needs no systemd" >&2
	exit 1
}
"$prefix/sbin/facetrack-group" apply
if [ "$start" = yes ] && [ -d /run/systemd/system ]; then
	if [ "$changed" = yes ]; then "$prefix/sbin/facetrack-group" restart; else "$prefix/sbin/facetrack-group" start; fi
	rm -f "$stamp"
	echo "install: the group runs: systemctl list-dependencies facetrack.target, facetrack status, journalctl -u 'facetrack-*'"
fi

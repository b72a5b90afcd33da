#!/usr/bin/env bash
# What the scripts say to those who call them wrongly. Nothing can be installed or removed: they run as a user without rights, and where
# they ask for root, as one whose rights end at a namespace of its own.
set -euo pipefail
cd "$(dirname "$0")/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tree" "$work/bin" "$work/none" "$work/half"
cp -r scripts deploy docs LICENSE facetrack.example.yaml "$work/tree/"
cat >"$work/bin/facetrack" <<'P'
#!/bin/sh
echo "facetrack: $3 line 1: unknown key" >&2
exit 1
P
chmod 755 "$work/bin/facetrack"
for program in capture detect landmarks tracker lsl-out; do install -m 755 /dev/null "$work/bin/$program"; done
install -m 755 /dev/null "$work/half/facetrack"
echo 'cam: 1' >"$work/lab.yaml"
chmod -R a+rX "$work"
cd "$work"

as=()
if [ "$(id -u)" -eq 0 ]; then
	command -v setpriv >/dev/null || {
		echo "SKIP scripts: as root this needs setpriv"
		exit 0
	}
	as=(setpriv --reuid=65534 --regid=65534 --clear-groups --)
fi

bad=0
# says STATUS TEXT COMMAND...: this, and not a word more.
says() {
	local status=$1 text=$2 got=0 said
	shift 2
	said=$("${as[@]}" "$@" 2>&1) || got=$?
	if [ "$got" != "$status" ] || [ "$said" != "$text" ]; then
		bad=1
		printf '%s\n  status %s: %s\n  wanted %s: %s\n' "$*" "$got" "$said" "$status" "$text" >&2
	fi
}

install=tree/scripts/install.sh uninstall=tree/scripts/uninstall.sh group=tree/deploy/systemd/facetrack-group
for flag in --prefix --config --gpus --nats --mps --bin --destdir; do
	for value in '' --no-start; do
		says 2 "install: $flag needs a value; see scripts/install.sh --help" $install $flag $value
	done
done
says 2 'install: --nats maybe: yes or no' $install --nats maybe
says 2 'install: --mps 1: yes or no' $install --mps 1
says 2 'install: --cameras: unknown; see scripts/install.sh --help' $install --cameras
says 2 'install: --prefix /opt: systemd looks for units in /usr and /usr/local alone' $install --prefix /opt
says 2 "install: --config $work/other.yaml: there is no such file" $install --config other.yaml
says 2 "install: --bin $work/none: there is no program facetrack; make build makes it" $install --bin none
says 2 "install: --bin $work/half: there is no program capture; make build makes it" $install --bin half
says 1 'install: installing services needs root: sudo scripts/install.sh' $install --bin bin
says 0 "$(sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' $install)" $install --help

says 2 'uninstall: --prefix needs a value; see scripts/uninstall.sh --help' $uninstall --prefix
says 2 'uninstall: --prefix needs a value; see scripts/uninstall.sh --help' $uninstall --prefix --purge
says 2 'uninstall: --all: unknown; see scripts/uninstall.sh --help' $uninstall --all
says 2 'uninstall: --prefix /opt: systemd looks for units in /usr and /usr/local alone' $uninstall --prefix /opt
says 1 'uninstall: removing services needs root: sudo scripts/uninstall.sh' $uninstall --purge
says 0 "$(sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' $uninstall)" $uninstall --help

says 1 "deb: no programs in $work/none: make build" tree/scripts/deb.sh none

usage=$(sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' $group)
for command in apply start restart stop remove purge; do
	grep -q "^  facetrack-group $command " <<<"$usage" || { bad=1 && echo "facetrack-group does not name $command" >&2; }
done
says 2 "$usage" $group
says 2 "$usage" $group again

# Root of a namespace alone, with facetrack in PREFIX.
installed() {
	local prefix=$1
	shift
	# shellcheck disable=SC2016 # for the shell inside
	unshare --user --map-root-user --mount bash -c \
		'mount -t tmpfs tmpfs "$0/lib" && install -D /dev/null "$0/lib/facetrack/capture" && exec "$@"' "$prefix" "$@"
}
export -f installed
if [ -e /usr/lib/facetrack ] || [ -e /usr/local/lib/facetrack ]; then
	echo "scripts: facetrack is installed on this machine: what they say to root is not tried"
elif ! "${as[@]}" bash -c 'installed /usr/local true' 2>/dev/null; then
	echo "scripts: no namespaces for users here: what they say to root is not tried"
else
	says 1 "facetrack: $work/lab.yaml line 1: unknown key
install: --config $work/lab.yaml cannot be used; nothing was changed" unshare --user --map-root-user $install --bin bin --config lab.yaml
	says 1 'install: facetrack is in /usr/local already: remove it there first (scripts/uninstall.sh --prefix /usr/local, or apt remove facetrack)' \
		bash -c 'installed /usr/local "$@"' bash $install --prefix /usr --bin bin
	says 1 'uninstall: facetrack is in /usr/local: scripts/uninstall.sh --prefix /usr/local, or apt remove facetrack' \
		bash -c 'installed /usr/local "$@"' bash $uninstall --prefix /usr --purge
fi
if [ "$bad" != 0 ]; then
	echo "scripts: not as they should be" >&2
	exit 1
fi

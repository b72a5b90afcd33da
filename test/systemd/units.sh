#!/usr/bin/env bash
# Checks every unit as it is installed: that systemd understands it, and that its exposure is at most 4.0. And what the scripts say.
set -euo pipefail
cd "$(dirname "$0")/../.."

test/systemd/scripts.sh
command -v systemd-analyze >/dev/null || {
	echo "SKIP units: no systemd-analyze here; install the package systemd"
	exit 0
}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
# Programs are only looked for; the units of the system are needed for what ours come after.
mkdir -p "$root/bin" "$root/root/usr/lib/systemd" "$root/root/usr/bin" "$root/root/bin"
for program in facetrack capture detect landmarks tracker lsl-out; do install -m 755 /dev/null "$root/bin/$program"; done
cp -a /lib/systemd/system "$root/root/usr/lib/systemd/"
rm -rf "$root"/root/usr/lib/systemd/system/facetrack*
scripts/install.sh --bin "$root/bin" --prefix /usr --destdir "$root/root"
for program in usr/bin/nvidia-cuda-mps-control bin/sh; do install -m 755 /dev/null "$root/root/$program"; done

bad=0
for unit in deploy/systemd/*.service deploy/systemd/*.target; do
	name=$(basename "$unit")
	for instance in 0 cam_0-b; do
		one=${name/@./@$instance.}
		# Files of the machine's own units that are missing in this root are none of ours.
		said=$(systemd-analyze verify --recursive-errors=no --man=no --root="$root/root" "$one" 2>&1) || bad=1
		if grep -i facetrack <<<"$said"; then bad=1; fi
		case $name in *@*) ;; *) break ;; esac
	done
	case $name in *.target) continue ;; esac
	if ! exposure=$(systemd-analyze security --offline=true --no-pager --threshold=40 --root="$root/root" "${name/@./@0.}" 2>&1); then
		bad=1
		echo "$name is too exposed:"
	fi
	tail -1 <<<"$exposure" | sed 's/^→ //'
	if ! grep -q 'Overall exposure' <<<"$exposure"; then bad=1; fi
done
if [ "$bad" != 0 ]; then
	echo "units: not as they should be" >&2
	exit 1
fi

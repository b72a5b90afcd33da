# A machine of its own to install facetrack on: a systemd in namespaces, on top of this machine's files, of which none is changed.
# Sourced by group.sh and package.sh, with $programs the folder of the built programs. Says SKIP and why where that cannot be.
# shellcheck shell=bash disable=SC2154

skip() {
	echo "SKIP $test: $*"
	exit 0
}
fail() {
	echo "FAIL $test: $*" >&2
	inside journalctl --no-pager -q -n 60 -o short-monotonic -u 'facetrack*' >&2 || true
	exit 1
}
[ "$(id -u)" -eq 0 ] || skip "a machine of its own needs root"
for tool in unshare nsenter /lib/systemd/systemd systemctl; do
	command -v "$tool" >/dev/null || skip "no $tool here"
done
for place in /usr /usr/local; do
	[ ! -e "$place/lib/facetrack" ] || skip "facetrack is installed on this machine"
done
[ -x "$programs/capture" ] || fail "no programs in $programs: make build"

work=$(mktemp -d /var/tmp/facetrack-test.XXXXXX)
leader='' cgroup=''
end() {
	if [ -n "$leader" ]; then
		kill -KILL "$leader" 2>/dev/null || true # takes everything in its namespaces along
		wait "$leader" 2>/dev/null || true
	fi
	if [ -n "$cgroup" ]; then
		for _ in $(seq 50); do # the kernel takes a moment to bury the dead
			find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null && break
			sleep 0.1
		done
	fi
	rm -rf "$work"
}
trap end EXIT

# A group of processes that the new systemd may divide as it likes.
hierarchy=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)
[ -n "$hierarchy" ] || skip "no cgroup2 hierarchy is mounted here"
cgroup=$hierarchy$(sed -n 's/^0:://p' /proc/self/cgroup)/facetrack-test-$$
mkdir "$cgroup" 2>"$work/why" || {
	cgroup=''
	skip "$(cat "$work/why")"
}
mkdir "$work/root" "$work/programs"
cp "$programs"/{facetrack,capture,detect,landmarks,tracker,lsl-out} "$work/programs/"
unshare --mount --uts --ipc --net --pid --cgroup --fork true 2>"$work/why" || skip "$(cat "$work/why")"
(
	echo "$BASHPID" >"$cgroup/cgroup.procs"
	exec unshare --mount --uts --ipc --net --pid --cgroup --fork --kill-child test/systemd/boot.sh "$work/root" "$PWD"
) >"$work/boot.log" 2>&1 &
leader=$!

# until SECONDS WHAT COMMAND...: waits for what a command tells.
until_true() {
	local end=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || fail "never: $what"
		sleep 0.1
	done
}
inside() { nsenter -t "$first" -a "$@"; }
booted() {
	first=$(pgrep -P "$leader") && [ "$(cat "/proc/$first/comm")" = systemd ] && inside systemctl is-active basic.target
}
first=''
for _ in $(seq 150); do
	if booted >/dev/null 2>&1; then break; fi
	kill -0 "$leader" 2>/dev/null || skip "no machine of its own: $(tail -1 "$work/boot.log")"
	sleep 0.1
done
booted >/dev/null || skip "systemd does not come up here: $(tail -1 "$work/boot.log")"
inside mkdir -p /mnt/programs
tar -C "$work/programs" -c . | inside tar -C /mnt/programs -x
echo "systemd $(inside systemctl --version | sed -n '1s/^systemd //p') runs as process 1 of a machine of its own"

cat >"$work/facetrack.yaml" <<'Y'
rig: lab
cameras:
  - {name: left, source: "synthetic:faces=1,fps=10", loop: true}
  - {name: right-2, source: "synthetic:faces=1,fps=10", loop: true}
Y
inside tee /mnt/facetrack.yaml <"$work/facetrack.yaml" >/dev/null
all='facetrack-nats facetrack-capture@left facetrack-capture@right-2 facetrack-detect@cpu facetrack-landmarks@cpu facetrack-tracker facetrack-lsl-out'

# What this machine has that the one below has not, and the users. Of the layer above are listed: what is another file below, and what is none.
files() {
	inside find /mnt/above /dev/shm /run/systemd/system -mindepth 1 \( -path '/mnt/above/var/log' -o -path '/mnt/above/var/tmp' -o -path '/mnt/above/var/lib/dpkg' -o -path '/mnt/above/mnt' \) \
		-prune -o -printf '%y %p\n' | sort | while read -r kind path; do
		below=${path#/mnt/above}
		case $kind in
		d) [ -d "$below" ] || echo "$below" ;;
		f) cmp -s "/proc/$first/root$path" "$below" || echo "$below" ;;
		*) echo "$below" ;;
		esac
	done
	inside getent passwd
	inside getent group
}
nothing_left() { # since files were listed in $work/before
	files >"$work/after"
	# Backups that the tools for users make of their own files.
	sed -i -E '/^\/etc\/((passwd|group|shadow|gshadow|subuid|subgid)-|\.pwd\.lock)$/d' "$work/before" "$work/after"
	diff "$work/before" "$work/after" || fail "the files above were left or are missing"
}
stopped() { # all services, and their rings are gone
	local unit state
	for unit in $all facetrack-begin; do
		state=$(inside systemctl is-active "$unit.service" || true)
		[ "$state" = inactive ] || fail "$unit is $state after the stop"
	done
	[ -z "$(inside ls /dev/shm)" ] || fail "left in /dev/shm: $(inside ls /dev/shm)"
}
frames() { # of both cameras that have come to the last stage
	inside facetrack status --wait 200ms 2>/dev/null | awk '$1 == "lsl-out" {n[$3] = $4} END {print n["left"] + 0, n["right-2"] + 0}'
}
flows() { # more of them come, or an lsl-out that was started again counts anew
	local left right
	read -r left right < <(frames)
	until_true 20 "frames of both cameras after $1" more "$left" "$right"
}
more() {
	local left right
	read -r left right < <(frames)
	[ "$left" != "$1" ] && [ "$right" != "$2" ] && [ "$left" -gt 0 ] && [ "$right" -gt 0 ]
}

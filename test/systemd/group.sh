#!/usr/bin/env bash
# The group of services under a real systemd: installs facetrack with two drawn cameras on a machine of its own, kills and stops every
# service, and removes everything again.
#
#   test/systemd/group.sh [DIR]    DIR has the built programs; bin without it
set -euo pipefail
cd "$(dirname "$0")/../.."
programs=$(realpath "${1:-bin}")
test=group
. test/systemd/machine.sh

pid() { inside systemctl show -p MainPID --value "$1.service"; }
served() { [ "$(inside facetrack status | awk -v s="$1" '$1 == s {print $3}' | sort | tr '\n' ' ')" = "$2" ]; }
shared() { [ "$(inside facetrack status | awk -v s="$1" '$1 == s' | grep -c ' shm ')" = 2 ]; }
renewed() { [ "$(pid "$1")" != "$2" ] && [ "$(pid "$1")" != 0 ] && inside systemctl is-active "$1.service"; }

files >"$work/before"

# A watchdog that is waited for.
inside mkdir -p /run/systemd/system/facetrack-.service.d
printf '[Service]\nWatchdogSec=3\nTimeoutAbortSec=1\n' | inside tee /run/systemd/system/facetrack-.service.d/99-test.conf >/dev/null

echo "install"
inside /mnt/facetrack/scripts/install.sh --bin /mnt/programs --config /mnt/facetrack.yaml >"$work/install.log" 2>&1 || fail "install: $(cat "$work/install.log")"
for unit in $all; do until_true 20 "$unit is active" inside systemctl is-active "$unit.service"; done
[ "$(inside systemctl is-active facetrack-begin.service)" = active ] || fail "the run has not begun"
flows "the start"
for stage in detect landmarks; do
	until_true 20 "$stage reads both rings through shared memory" shared "$stage"
done
for unit in $all; do
	[ "$(inside ps -o user= -p "$(pid "$unit")")" = facetrack ] || fail "$unit does not run as the user facetrack"
done

echo "install again: nothing changes"
before=$(for unit in $all; do pid "$unit"; done)
inside /mnt/facetrack/scripts/install.sh --bin /mnt/programs --config /mnt/facetrack.yaml >"$work/install.log" 2>&1 || fail "install: $(cat "$work/install.log")"
[ "$(for unit in $all; do pid "$unit"; done)" = "$before" ] || fail "a second installation started something again"
inside /mnt/facetrack/scripts/install.sh --bin /mnt/programs >"$work/install.log" 2>&1 || fail "install: $(cat "$work/install.log")"
inside cmp /mnt/facetrack.yaml /etc/facetrack/facetrack.yaml || fail "the example was installed over a configuration"
if inside test -e /etc/facetrack/facetrack.yaml.new; then fail "the example that is known was put beside the configuration"; fi
[ "$(for unit in $all; do pid "$unit"; done)" = "$before" ] || fail "a third installation started something again"
inside sed -i 's/^rig: lab/rig: lab # mine/' /etc/facetrack/facetrack.yaml
inside sed -i 's/^rig: lab/rig: other/' /mnt/facetrack.yaml
inside /mnt/facetrack/scripts/install.sh --bin /mnt/programs --config /mnt/facetrack.yaml --no-start >"$work/install.log" 2>&1 || fail "install: $(cat "$work/install.log")"
inside grep -q '^rig: lab # mine' /etc/facetrack/facetrack.yaml || fail "an edited configuration was overwritten"
inside grep -q '^rig: other' /etc/facetrack/facetrack.yaml.new || fail "the new configuration was not put beside the edited one"
grep -q 'facetrack.yaml was edited and stays' "$work/install.log" || fail "nothing was said of the edited configuration"
inside sed -i 's/^rig: other/rig: a b/' /mnt/facetrack.yaml
if inside /mnt/facetrack/scripts/install.sh --bin /mnt/programs --config /mnt/facetrack.yaml >"$work/install.log" 2>&1; then fail "a configuration that cannot be was installed"; fi
grep -q 'facetrack.yaml cannot be used; nothing was changed' "$work/install.log" || fail "of a configuration that cannot be: $(cat "$work/install.log")"

echo "an installation that is cut off starts the group the next time"
old=$(pid facetrack-tracker)
inside rm /usr/local/lib/facetrack/backoff.conf
inside /mnt/facetrack/scripts/install.sh --bin /mnt/programs --no-start >"$work/install.log" 2>&1 || fail "install: $(cat "$work/install.log")"
[ "$(pid facetrack-tracker)" = "$old" ] || fail "--no-start has started something"
inside /mnt/facetrack/scripts/install.sh --bin /mnt/programs >"$work/install.log" 2>&1 || fail "install: $(cat "$work/install.log")"
renewed facetrack-tracker "$old" >"$work/log" || fail "what was replaced was not started"
if inside test -e /usr/local/share/facetrack/restart; then fail "it would be started once more"; fi
flows "the restart"

echo "kill every service"
for unit in $all; do
	old=$(pid "$unit")
	inside kill -KILL "$old"
	until_true 10 "$unit is started again" renewed "$unit" "$old"
	flows "the death of $unit"
done

echo "stop processes: the watchdog ends them"
for unit in facetrack-nats facetrack-capture@left facetrack-tracker; do
	pid "$unit" >"$work/$unit"
	inside kill -STOP "$(cat "$work/$unit")"
done
for unit in facetrack-nats facetrack-capture@left facetrack-tracker; do
	until_true 20 "$unit is started again by its watchdog" renewed "$unit" "$(cat "$work/$unit")"
	inside journalctl -q -u "$unit.service" -g 'Watchdog timeout' >/dev/null || fail "$unit: not the watchdog"
done
flows "the watchdog"

echo "work that stands still: the watchdog ends it"
inside tee -a /etc/facetrack/facetrack.env >/dev/null <<<'FACETRACK_FAULTS_TRACKER=track=hang@20'
inside systemctl restart facetrack-tracker.service
old=$(pid facetrack-tracker)
inside sed -i '/FAULTS/d' /etc/facetrack/facetrack.env
until_true 30 "a tracker that hangs is started again" renewed facetrack-tracker "$old"
for line in 'a piece of work has not ended' 'Watchdog timeout' '^goroutine [0-9]+ '; do
	inside journalctl -q "_PID=$old" + UNIT=facetrack-tracker.service -g "$line" >/dev/null || fail "not in the journal: $line"
done
flows "the hang"

echo "a camera leaves the configuration"
inside sed -i '/right-2/d' /etc/facetrack/facetrack.yaml
inside /usr/local/sbin/facetrack-group apply >/dev/null
[ "$(inside systemctl is-active facetrack-capture@right-2.service)" = inactive ] || fail "its service still runs"

echo "whose server it is"
server() { # of this configuration, and with this variable
	printf 'rig: lab\nnats: %s\n' "$1" | inside tee /etc/facetrack/facetrack.yaml >/dev/null
	echo "$2" | inside tee /etc/facetrack/facetrack.env >/dev/null
	inside facetrack-group apply >/dev/null
	inside systemctl is-enabled facetrack-nats.service || true
}
[ "$(server '{listen: "127.0.0.1:4222"}' '')" = enabled ] || fail "the rig has no server"
[ "$(server '{url: "nats://other:4222"}' '')" = disabled ] || fail "the server of the rig stays beside one of the configuration"
[ "$(server '{}' 'FACETRACK_NATS="nats://other:4222"')" = disabled ] || fail "the server of the rig stays beside one of FACETRACK_NATS"
[ "$(server '{}' '#FACETRACK_NATS_URL=nats://other:4222')" = enabled ] || fail "the rig has no server"
[ "$(server '{}' 'FACETRACK_NATS_URL=nats://other:4222')" = disabled ] || fail "the server of the rig stays beside one of FACETRACK_NATS_URL"
inside rm /etc/facetrack/facetrack.env

echo "without a systemd that runs"
offline() { inside unshare --mount sh -c 'mount -t tmpfs tmpfs /run && "$@"' sh env "$@" facetrack-group apply >"$work/log" 2>&1 || fail "apply $*: $(cat "$work/log")"; }
for want in yes:enabled no:disabled; do
	offline "NATS=${want%:*}" "MPS=${want%:*}"
	for unit in facetrack-nats facetrack-mps; do
		[ "$(inside systemctl is-enabled "$unit.service" || true)" = "${want#*:}" ] || fail "$unit is not ${want#*:}"
	done
done

echo "two instances, each with cameras of its own, rings of a group, and a server from a credential"
inside tee /etc/facetrack/facetrack.yaml >/dev/null <<'Y'
rig: lab
cameras:
  - {name: left, source: "synthetic:faces=1,fps=10", loop: true, gpu: 0}
  - {name: right-2, source: "synthetic:faces=1,fps=10", loop: true, gpu: off}
ipc: {group: video}
Y
for stage in detect landmarks; do # capture has this group for its cameras
	inside mkdir "/etc/systemd/system/facetrack-$stage@.service.d"
	printf '[Service]\nSupplementaryGroups=video\n' | inside tee "/etc/systemd/system/facetrack-$stage@.service.d/override.conf" >/dev/null
done
inside mkdir -p /etc/systemd/system/facetrack-.service.d
inside tee /etc/systemd/system/facetrack-.service.d/mine.conf >/dev/null <<<'# mine'
inside install -d -m 700 /etc/credstore
inside tee /etc/credstore/facetrack.nats.url >/dev/null <<<'nats://lab:secret@localhost:4222'
inside env GPUS='0 cpu' NATS=yes facetrack-group apply # the credential names this very server
inside facetrack-group restart
flows "the restart"
for stage in detect landmarks; do
	until_true 20 "$stage: each camera is one process's" served "$stage" 'left right-2 '
	until_true 20 "$stage reads both rings of the group through shared memory" shared "$stage"
	inside test "$(pid "facetrack-$stage@0")" != "$(pid "facetrack-$stage@cpu")"
	inside grep -q secret "/run/credentials/facetrack-$stage@0.service/facetrack.nats.url" || fail "the credential was not handed over"
done
for ring in left right-2; do
	for file in ctl pix; do
		[ "$(inside stat -c '%a %U %G' "/dev/shm/facetrack-lab-$ring.$file")" = '660 facetrack video' ] || fail "$ring.$file is not the group's: $(inside ls -l /dev/shm)"
	done
done
echo "a camera is added while the others run"
before=$(for unit in facetrack-capture@left facetrack-detect@0 facetrack-detect@cpu facetrack-tracker; do pid $unit; done)
inside sed -i '/right-2/a\  - {name: third, source: "synthetic:faces=1,fps=10", loop: true, gpu: off}' /etc/facetrack/facetrack.yaml
inside /usr/local/bin/facetrack config put /etc/facetrack/facetrack.yaml >"$work/put.log" 2>&1 || fail "config put: $(cat "$work/put.log")"
inside env NATS=yes facetrack-group apply
inside facetrack-group start
for stage in detect landmarks; do until_true 20 "$stage serves it" served "$stage" 'left right-2 third '; done
[ "$before" = "$(for unit in facetrack-capture@left facetrack-detect@0 facetrack-detect@cpu facetrack-tracker; do pid $unit; done)" ] || fail "a service was started again"

echo "stop"
inside ls /dev/shm | grep -q '^facetrack-' || fail "no ring in /dev/shm while the group runs"
inside systemctl kill -s KILL facetrack-capture@left.service facetrack-detect@0.service # who is stopped before it is back leaves nothing either
inside /usr/local/sbin/facetrack-group stop
stopped

echo "remove"
inside rm -r /run/systemd/system/facetrack-.service.d
inside systemctl start facetrack.target
if inside /mnt/facetrack/scripts/uninstall.sh --prefix /usr >"$work/uninstall.log" 2>&1; then fail "it was removed from where it is not"; fi
grep -q 'facetrack is in /usr/local: ' "$work/uninstall.log" || fail "of the other prefix: $(cat "$work/uninstall.log")"
inside systemctl is-active facetrack.target >/dev/null || fail "it was stopped all the same"
inside /mnt/facetrack/scripts/uninstall.sh >"$work/uninstall.log" 2>&1 || fail "uninstall: $(cat "$work/uninstall.log")"
inside test -e /etc/facetrack/facetrack.yaml || fail "the configuration went without --purge"
inside test -d /var/lib/facetrack/lab || fail "the data went without --purge"
inside test -e /etc/credstore/facetrack.nats.url || fail "the credential went without --purge"
inside ls /etc/systemd/system/facetrack-.service.d /etc/systemd/system/facetrack-detect@.service.d >"$work/dropins" || fail "drop-ins went without --purge"
if grep -q backoff "$work/dropins"; then fail "the installation's own drop-in stays"; fi
inside systemd-run -q --unit=holder --uid=facetrack sleep infinity
inside /mnt/facetrack/scripts/uninstall.sh --purge >"$work/uninstall.log" 2>&1 || fail "uninstall --purge: $(cat "$work/uninstall.log")"
grep -q 'the user facetrack stays' "$work/uninstall.log" || fail "of a user who has a process: $(cat "$work/uninstall.log")"
inside systemctl stop holder
inside /mnt/facetrack/scripts/uninstall.sh --purge >"$work/uninstall.log" 2>&1 || fail "uninstall --purge: $(cat "$work/uninstall.log")"
[ -z "$(inside systemctl list-units --all --plain --no-legend 'facetrack*')" ] || fail "units are left: $(inside systemctl list-units --all 'facetrack*')"
if [ ! -d /etc/credstore ]; then inside rmdir /etc/credstore; fi # systemd's folder, made above; empty
nothing_left
echo "ok: nothing is left"

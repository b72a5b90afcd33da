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
inside sed -i 's/^rig: lab/rig: lab # mine/' /etc/facetrack/facetrack.yaml
inside sed -i 's/^rig: lab/rig: other/' /mnt/facetrack.yaml
inside /mnt/facetrack/scripts/install.sh --bin /mnt/programs --config /mnt/facetrack.yaml --no-start >"$work/install.log" 2>&1 || fail "install: $(cat "$work/install.log")"
inside grep -q '^rig: lab # mine' /etc/facetrack/facetrack.yaml || fail "an edited configuration was overwritten"
inside grep -q '^rig: other' /etc/facetrack/facetrack.yaml.new || fail "the new configuration was not put beside the edited one"
grep -q 'facetrack.yaml was edited and stays' "$work/install.log" || fail "nothing was said of the edited configuration"

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

echo "two instances, each with cameras of its own, and a server from a credential"
inside tee /etc/facetrack/facetrack.yaml >/dev/null <<'Y'
rig: lab
cameras:
  - {name: left, source: "synthetic:faces=1,fps=10", loop: true, gpu: 0}
  - {name: right-2, source: "synthetic:faces=1,fps=10", loop: true, gpu: off}
Y
inside install -d -m 700 /etc/credstore
inside tee /etc/credstore/facetrack.nats.url >/dev/null <<<'nats://lab:secret@localhost:4222'
inside env GPUS='0 cpu' NATS=yes facetrack-group apply # the credential names this very server
inside facetrack-group restart
flows "the restart"
for stage in detect landmarks; do
	until_true 20 "$stage: each camera is one process's" served "$stage" 'left right-2 '
	inside test "$(pid "facetrack-$stage@0")" != "$(pid "facetrack-$stage@cpu")"
	inside grep -q secret "/run/credentials/facetrack-$stage@0.service/facetrack.nats.url" || fail "the credential was not handed over"
done
echo "a camera is added while the others run"
before=$(for unit in facetrack-capture@left facetrack-detect@0 facetrack-detect@cpu facetrack-tracker; do pid $unit; done)
inside tee -a /etc/facetrack/facetrack.yaml >/dev/null <<<'  - {name: third, source: "synthetic:faces=1,fps=10", loop: true, gpu: off}'
inside /usr/local/bin/facetrack config put /etc/facetrack/facetrack.yaml >"$work/put.log" 2>&1 || fail "config put: $(cat "$work/put.log")"
inside env NATS=yes facetrack-group apply
inside facetrack-group start
for stage in detect landmarks; do until_true 20 "$stage serves it" served "$stage" 'left right-2 third '; done
[ "$before" = "$(for unit in facetrack-capture@left facetrack-detect@0 facetrack-detect@cpu facetrack-tracker; do pid $unit; done)" ] || fail "a service was started again"
inside rm -r /etc/credstore

echo "stop"
inside ls /dev/shm | grep -q '^facetrack-' || fail "no ring in /dev/shm while the group runs"
inside systemctl kill -s KILL facetrack-capture@left.service facetrack-detect@0.service # who is stopped before it is back leaves nothing either
inside /usr/local/sbin/facetrack-group stop
stopped

echo "remove"
inside rm -r /run/systemd/system/facetrack-.service.d
inside systemctl start facetrack.target
inside /mnt/facetrack/scripts/uninstall.sh >"$work/uninstall.log" 2>&1 || fail "uninstall: $(cat "$work/uninstall.log")"
inside test -e /etc/facetrack/facetrack.yaml || fail "the configuration went without --purge"
inside test -d /var/lib/facetrack/lab || fail "the data went without --purge"
inside /mnt/facetrack/scripts/uninstall.sh --purge >"$work/uninstall.log" 2>&1 || fail "uninstall --purge: $(cat "$work/uninstall.log")"
[ -z "$(inside systemctl list-units --all --plain --no-legend 'facetrack*')" ] || fail "units are left: $(inside systemctl list-units --all 'facetrack*')"
nothing_left
echo "ok: nothing is left"

#!/usr/bin/env bash
# Becomes the systemd of a machine of its own: this machine's files with a layer above them that is gone in the end. It runs in new
# namespaces, as machine.sh makes them: boot.sh ROOT REPOSITORY
set -euo pipefail
root=$1 repository=$2

mount --make-rprivate /
mkdir -p "$root"
mount -t tmpfs -o size=1g,mode=755 tmpfs "$root"
mkdir "$root/above" "$root/work" "$root/machine"
mount -t overlay -o "lowerdir=/,upperdir=$root/above,workdir=$root/work" overlay "$root/machine"
cd "$root/machine"

# Nothing of the machine outside is started in it, nor changed.
rm -rf etc/systemd/system etc/fstab etc/facetrack var/lib/facetrack
mkdir -p etc/systemd/system mnt/facetrack mnt/above
for noise in systemd-modules-load systemd-sysctl systemd-timesyncd systemd-firstboot systemd-udevd systemd-udev-trigger; do
	ln -s /dev/null "etc/systemd/system/$noise.service"
done
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
	touch "dev/$device"
	mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/shm dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
touch dev/console
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount --bind "$repository" mnt/facetrack
mount --bind "$root/above" mnt/above
mkdir outside
pivot_root . outside
umount -l /outside
rmdir /outside
mount --make-rshared / # services get their credentials as mounts from outside their namespaces
export container=other
exec /lib/systemd/systemd --system --unit=basic.target --log-target=journal

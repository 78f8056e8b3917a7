#!/bin/busybox sh
# The first process of a guest: mounts the host's files, read only, under a layer in memory that takes what the guest
# writes, and starts guest_main.sh of the job there (guest.sh).
b=/bin/busybox
stop() { echo "guest: $*"; $b poweroff -f; }

$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs devtmpfs /dev
while read -r module; do $b insmod "/modules/$module" || echo "guest: cannot load $module"; done </modules/paths

options=trans=virtio,version=9p2000.L,msize=512000
$b mount -t 9p -o $options job /job || stop "no job"
$b mount -t 9p -o ro,cache=loose,$options host /host || stop "no files of the host"
$b mount -t tmpfs -o size=75% changes /changes
$b mkdir /changes/files /changes/work
$b mount -t overlay -o lowerdir=/host,upperdir=/changes/files,workdir=/changes/work root /root || stop "no overlay"

for system in proc sys dev; do $b mount --move /$system /root/$system; done
$b mkdir -p /root/dev/shm /root/dev/pts
$b mount -t tmpfs shm /root/dev/shm
$b mount -t devpts devpts /root/dev/pts
$b mount -t tmpfs run /root/run
$b mkdir /root/run/job
$b mount --move /job /root/run/job
$b ln -sf /proc/self/fd /root/dev/fd
for stream in 0:stdin 1:stdout 2:stderr; do $b ln -sf /proc/self/fd/${stream%:*} /root/dev/${stream#*:}; done
exec $b switch_root /root /bin/bash /run/job/guest_main.sh

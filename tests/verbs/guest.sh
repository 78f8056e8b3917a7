#!/usr/bin/env bash
# Runs a command as root on a machine of its own: Debian's kernel in QEMU, which emulates the processor (neither KVM nor
# rights are needed; there is no AVX-512). It has the files of this host at their own paths; what the command writes is gone
# afterwards. It is joined to nothing, has RDMA devices in pairs (guest_main.sh) and this script's environment.
#
#   guest.sh DIRECTORY COMMAND        the output and the status are the command's; 124: too late; 125: the guest died
#
# The processor has no "enhanced" string instructions, which kernel and libc would copy with: QEMU emulates them byte by byte,
# and messages went at three fifths of their rate.
#
# Without preempt=full a link that goes down may lock both processors up: rxe of Linux 6.1 sends a packet that was not taken again
# at once, without an end, in the thread that posted it; where two do so, nobody ends the grace period of RCU that taking the link
# down waits for.
# Even so both processors were once in a hundred failures of links stuck for ever in threads that posted (Debian 6.1.192-2): the kernel
# panics then, within 40 s, which ends the guest.
# Without no_timer_check its kernel tries the timer for a moment of the clock, in which an emulator on a busy host may not come to
# emulate it, and then waits for ever ("MP-BIOS bug: 8254 timer not connected").
#
# DIRECTORY is kernel.sh's. GUEST_LINKS: pairs of RDMA devices (1). GUEST_SECONDS: for all of it (120). GUEST_MEMORY: MiB
# (2048). GUEST_CONSOLE: a file for what the kernel says.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
directory=$1 command=$2
export GUEST_LINKS=${GUEST_LINKS:-1} GUEST_MODULES=$directory/modules

job=$(mktemp -d "${TMPDIR:-/tmp}/tenax-guest.XXXXXX") || exit 125
machine=
end() { [ -z "$machine" ] || kill "$machine" 2>/dev/null; rm -rf "$job"; }
trap end EXIT
trap 'exit 143' TERM INT HUP
console=${GUEST_CONSOLE:-$job/console}
cp "$here/guest_main.sh" "$job/"
printf '%s' "$command" >"$job/command"
pwd >"$job/directory"
export -p >"$job/environment"

shared() { echo "local,path=$1,mount_tag=$2,security_model=none,multidevs=remap"; }
timeout -k 5 "${GUEST_SECONDS:-120}" qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -cpu max,-erms -smp 2 \
  -m "${GUEST_MEMORY:-2048}" -nodefaults -no-user-config -display none -no-reboot \
  -kernel "$directory/kernel" -initrd "$directory/initrd" -append "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check preempt=full softlockup_panic=1 watchdog_thresh=20" \
  -serial "file:$console" -virtfs "$(shared / host),readonly=on" -virtfs "$(shared "$job" job)" \
  </dev/null 2>"$job/qemu.errors" &
machine=$!
# What the command says is printed as it comes: whoever ends this script has heard why.
tail -n +1 -s 0.1 -F --pid=$machine "$job/output" 2>/dev/null &
wait $machine
ended=$? machine=
wait
[ ! -s "$job/status" ] || exit "$(cat "$job/status")"
echo "the guest ended without a status ($ended); it said last:"
tail -n 20 "$job/qemu.errors" "$console"
[ $ended != 124 ] || exit 124
exit 125

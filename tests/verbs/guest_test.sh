#!/usr/bin/env bash
# Runs the checks of each FILE on soft RDMA, one after the other in one guest (guest.sh); the first that fails is the last. Where the
# guest's kernel locks up, a fault of its own, they begin again in another guest.
# Skipped, with the reason, where there is none; a failure with TENAX_GUEST=required; TENAX_GUEST=off leaves it out.
#
#   guest_test.sh FILE …      GUEST: the directory of kernel.sh, which tests/run.sh calls
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

skips() {
  [ "${TENAX_GUEST:-}" != required ] || { echo "FAILED: TENAX_GUEST=required, but $*"; exit 1; }
  echo "skipped: $*"
  exit 77
}
[ "${TENAX_GUEST:-}" != off ] || skips "TENAX_GUEST=off"
[ -e "$GUEST/kernel" ] && [ -e "$GUEST/initrd" ] ||
  skips "no kernel for a guest in $GUEST: $(cat "$GUEST/obstacle" 2>/dev/null || echo "tests/run.sh unpacks one")"

export GUEST_CONSOLE=$PWD/console GUEST_SECONDS=${GUEST_SECONDS:-880}
for try in 1 2 3; do
  bash "$here/guest.sh" "$GUEST" "for file in $*; do echo \"\$file:\"; bash '$here'/\$file || exit; done"
  status=$?
  [ $status = 125 ] && grep -q 'soft lockup' "$GUEST_CONSOLE" || break
  echo "the guest's kernel locked up, try $try"
done
[ $status = 0 ] || { echo "the guest's kernel said last:"; tail -n 15 "$GUEST_CONSOLE"; }
exit $status

# The program and its operations on emulated processors that lack this machine's instructions: none of those is executed.
# Arguments: the test programs of operations.
set -u
command -v qemu-x86_64 >/dev/null || { echo "skipped: qemu-x86_64 is not installed (Debian package qemu-user)"; exit 77; }

on() { local processor=$1; shift; qemu-x86_64 -cpu "$processor" "$@" 2> >(grep -v 'TCG doesn.t support' >&2); }

# Products choose for themselves (oneDNN), fp64 is for tests; and what attention's plain loops and teams of threads take of long
# sequences: those would take minutes here.
slow='*matrix_product*:TeamProduct.*:ThreadTeam.*:*fp64:*/T150_*:*/T25*:*Threads.change_no_bit_of_attention*'
while read -r processor loops; do
  found=$(on "$processor" "$TENAX" --version | sed -n 's/^loops: //p')
  [ "$found" = "$loops" ] || { echo "$processor takes the loops '$found', not '$loops'"; exit 1; }
  for program in "$@"; do
    on "$processor" "$program" --gtest_brief=1 --gtest_filter="-$slow" || { echo "$program fails on $processor"; exit 1; }
  done
done <<'PROCESSORS'
Nehalem baseline
Haswell avx2
PROCESSORS

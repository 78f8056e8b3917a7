# What checks in a guest share. To be sourced, in a directory that a test may write to.
set -eu
cd "$(mktemp -d)"

fail() { echo "FAILED: $*"; exit 1; }
# With the seconds since the guest began.
ok() { printf 'ok %6.1f s: %s\n' "$(cut -d ' ' -f 1 /proc/uptime)" "$*"; }

# claim WHAT COMMAND …: the command succeeds.
claim() {
  local what=$1
  shift
  "$@" >claim.log 2>&1 || { cat claim.log; fail "$what"; }
  ok "$what"
}

# link_up SIDE N: brings interface aN or bN up again, with the neighbour that it forgets when it goes down.
link_up() {
  local own=$1$2 other=b$2 number=2
  [ "$1" = a ] || { other=a$2; number=1; }
  ip link set "$own" up
  ip neighbour replace "10.77.$2.$number" lladdr "$(cat "/sys/class/net/$other/address")" nud permanent dev "$own"
}

# within SECONDS COMMAND …: repeats the command until it succeeds; 1 if it did not in that time.
within() {
  local end=$((SECONDS + $1 + 1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.1
  done
}

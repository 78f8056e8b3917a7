# In a guest: what is seen of RDMA ports.
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"

# ports STATUS PATTERN … -- override …: the status, and for each pattern a line of `tenax ports` that matches it.
ports() {
  local status=$1 patterns=() got=0
  shift
  while [ "$1" != -- ]; do patterns+=("$1"); shift; done
  "$TENAX" ports "${@:2}" >ports.log 2>&1 || got=$?
  [ $got = "$status" ] || { cat ports.log; fail "tenax ports ${*:2}: status $got instead of $status"; }
  for pattern in "${patterns[@]}"; do
    grep -qE "$pattern" ports.log || { cat ports.log; fail "tenax ports ${*:2}: no line like '$pattern'"; }
  done
  ok "tenax ports ${*:2}: $(head -n 1 ports.log)"
}

a='rxe_a0:1  ACTIVE  Ethernet  MTU 4096  .*  GID 1 ::ffff:10.77.0.1' b='rxe_b0:1  ACTIVE  .*  GID 1 ::ffff:10.77.0.2'
ports 0 "^$a  usable" "^$b  usable" 'locked memory allowed: unlimited' --
ports 0 "^$a  not usable: it is not in verbs.devices" "^$b  usable" -- verbs.devices=[rxe_b0:1]
ports 0 "^$a  usable" 'rxe_b0:1  .*no GID  not usable: it has no RoCE v2 address of comm.interfaces' -- comm.interfaces=[a0]
ports 0 "^$a  usable" -- verbs.gid_index=1
ports 1 'not usable: it has nothing at GID index 99' -- verbs.gid_index=99
ports 1 "verbs.devices names mlx5_0, which guest does not have; there are rxe_a0:1, rxe_b0:1" -- verbs.devices=[mlx5_0]
ports 2 'verbs.ring_kib = 1' -- verbs.ring_kib=1
ip address del 10.77.0.1/24 dev a0
ports 0 'rxe_a0:1  ACTIVE .*no GID  not usable: it has no RoCE v2 address' "^$b  usable" --
ip address add 10.77.0.1/24 dev a0
ip link set a0 down
ports 1 'rxe_a0:1  DOWN .* not usable: it is DOWN' 'rxe_b0:1  DOWN ' --
link_up a 0
ports 0 "^$a  usable" --
"$TENAX" ports --json >ports.json
claim "JSON is one line" [ "$(wc -l <ports.json)" = 1 ]
claim "JSON has the contract's names" grep -qE '^\{"ports": \[\{"port": "rxe_a0:1", "state": "ACTIVE", "link_layer": "Ethernet", "mtu": 4096, "gbps": [0-9.]+, "numa_node": null, "gid_index": 1, "gid": "::ffff:10.77.0.1", "usable": true, "reason": null\}, .*\], "locked_memory_bytes": null, "compiled_in": true\}$' ports.json
ulimit -l 64
claim "a user may lock what the limit says" grep -q '"locked_memory_bytes": 65536,' \
  <(setpriv --reuid 65534 --clear-groups "$TENAX" ports --json)

# Changes come at once, to the port that they are about.
: >changes
mkfifo input
"$WATCH_PORTS" 0.5 <input >>changes 2>&1 &
exec 7>input
# told SECONDS PATTERN: within so much a change like that is told, after those that were.
told() {
  within "$1" grep -qE "$2" changes || { cat changes; fail "no change '$2' in $1 s"; }
  ok "told: $(grep -E "$2" changes | tail -n 1)"
  : >changes
}
within 10 grep -q watching changes || fail "watch_ports does not start"
ip address del 10.77.0.1/24 dev a0
told 5 ' down rxe_a0:1 has no RoCE v2 address'
ip address add 10.77.0.1/24 dev a0
told 5 ' up rxe_a0:1 10.77.0.1$'
ip link set b0 down
told 5 ' down rxe_b0:1 (is DOWN|has failed)'
link_up b 0
told 5 ' up rxe_b0:1 10.77.0.2$'
rdma link delete rxe_a0 &  # which ends when all have let go of it
told 10 ' lost rxe_a0:1 '
claim "a device that is to go is let go" within 10 bash -c "! kill -0 $! 2>/dev/null"
rdma link add rxe_a0 type rxe netdev a0
told 10 ' found rxe_a0:1 10.77.0.1$'
exec 7>&-

# Ranks that hang while their hearts beat: they are found, and named, and only their replica starts again; each sample
# counts once. No rank that is merely slow is taken for one.
source "$(dirname "$0")/launch.sh"
steps=40
passes="device.kind=emulated device.forward_ms=4 device.backward_input_ms=4 device.backward_weight_ms=4 device.optimizer_ms=2"
usual="run.train_steps=$steps checkpoint.interval=-1 parallel.replicas=2 replicas.heartbeat_ms=50 replicas.dead_ms=3000 comm.deadline_s=60 $passes"

# Temporary files of this test alone, so that none of another supervisor's is taken for what this one has left.
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/tenax-hang.XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

of() { grep -c "$2" runs/$1/events.jsonl || true; }  # NAME WHAT
# hangs NAME REPLICA RANK WHERE override…: that rank is blamed, once, and its replica alone is lost.
hangs() {
  local name=$1 replica=$2 rank=$3
  audited_launch $name "kind = \"hang\"; from_step = 12; replica = $replica; rank = $rank; where = \"$4\"" "${@:5}"
  [ "$(of $name '"event": "hang"')" = 1 ] || fail "$name: not one hang: $(grep -E 'hang|lost' runs/$name/events.jsonl)"
  [ "$(of $name '"event": "replica_lost"')" = 1 ] || fail "$name: $(grep replica_lost runs/$name/events.jsonl)"
  [ "$(of $name '"event": "replica_lost".*"reason": "hang"')" = 1 ] || fail "$name: $(grep replica_lost runs/$name/events.jsonl)"
  local named
  named=$("$TENAX" blame runs/$name --json | grep -oE '"culprits": \[\{"replica": [0-9]+, "rank": [0-9]+' | grep -oE '[0-9]+' | paste -sd ' ')
  [ "$named" = "$replica $rank" ] || fail "$name: blamed is $named, not $replica $rank: $("$TENAX" blame runs/$name)"
  [ -s runs/$name/replica-$replica/hang-0.svg ] || fail "$name: no picture"
  echo "ok $name: $("$TENAX" blame runs/$name | sed -n 2p)"
}

audited_launch quiet "" $(layout 2 1 2)
[ "$(of quiet '"event": "hang"')" = 0 ] || fail "a hang where there is none: $(grep hang runs/quiet/events.jsonl)"
audited_launch slow 'kind = "slow_compute"; from_step = 10; replica = 1; rank = 1; factor = 4' $(layout 2 1 2)
[ "$(of slow '"event": "hang"')" = 0 ] || fail "a slow rank is taken for one that hangs: $(grep hang runs/slow/events.jsonl)"
echo "ok nobody hangs who does not"
audited_launch straggler 'kind = "slow_compute"; from_step = 60; replica = 1; rank = 1; factor = 4' $(layout 2 1 2) run.train_steps=110
[ "$(of straggler '"event": "straggler", "replica": 1, .*"ranks": \[{"replica": 1, "rank": [01], ')" -ge 1 ] ||
  fail "the ranks that wait least are not named: $(grep -E 'onset|straggler' runs/straggler/events.jsonl)"
echo "ok of a run that is slow, the tensor group is named whose ranks wait least for others"
hangs pass 1 1 pass $(layout 2 1 2)
hangs skip 0 2 skip_collective $(layout 2 1 2)
hangs connection 1 0 connection $(layout 1 1 2)
# A stop that is asked for in the step in which a rank hangs is one all the same. Where it comes too late for that step, it
# finds the hang over.
run=asked deck=pass.toml overrides=($usual $(layout 2 1 2) $endless replicas.hang_factor=3)
trap 'stop_all; rm -rf "$TMPDIR"' EXIT
supervise
await_commits 12
stop_run
[ "$(of asked '"event": "hang"')" = 1 ] || fail "asked to stop, a hang is not found: $(cat runs/asked/events.jsonl)"
[ "$(of asked '"event": "replica_lost".*"reason": "hang"')" = 1 ] || fail "asked: $(grep replica_lost runs/asked/events.jsonl)"
trap 'rm -rf "$TMPDIR"' EXIT
audited asked
echo "ok a hang in the last step before a stop"
# Where ranks are on other hosts, a stub of a remote shell reads their recorders there.
printf '#!/bin/sh\nshift\nexec sh -c "$1"\n' >shell
chmod +x shell
hangs elsewhere 1 2 pass $(layout 2 1 2) 'replicas.hosts=["red:4","blue:4"]' "replicas.remote_shell=$PWD/shell"
[ -z "$(ls -d "$TMPDIR"/tenax-recorders-* 2>/dev/null)" ] || fail "what recorders held is left in $TMPDIR"

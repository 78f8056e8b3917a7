# A tenax that was built without libibverbs says so where RDMA is asked for, and does without where it is not.
source "$(dirname "$0")/../app/common.sh"
without='this tenax was built without verbs: configure with -DTENAX_VERBS=ON (libibverbs-dev)'

# says STATUS TEXT COMMAND …: the text is a part of one line that the command prints, and of no other.
says() {
  local status=$1 text=$2 got=0
  shift 2
  "$@" >said.log 2>&1 </dev/null || got=$?
  [ $got = "$status" ] || { cat said.log; fail "status $got instead of $status: $*"; }
  [ "$(grep -cF -- "$text" said.log)" = 1 ] || { cat said.log; fail "not once '$text': $*"; }
  echo "ok $text"
}

says 0 'back ends' "$TENAX" --version
! grep -q verbs said.log || fail "verbs are among the back ends: $(cat said.log)"
says 1 "$without" "$TENAX" ports
says 1 '"ports": [], ' "$TENAX" ports --json
says 1 '"compiled_in": false}' "$TENAX" ports --json
says 2 'verbs.ring_kib = 1' "$TENAX" ports verbs.ring_kib=1

# two OVERRIDE …: a run of two stages.
two() { mpirun -n 2 "$TENAX" "$golden/golden.toml" $(layout 1 2 1) run.train_steps=1 pipeline.p2p=delegated run.name="$@"; }
hasten_failures
says 1 "comm.transport = \"verbs\": rank 0 ($(hostname)): $without" two refused comm.transport=verbs
[ ! -e runs/refused ] || fail "left a run directory"
says 0 'comm     shared memory within hosts' two automatic comm.transport=auto

# Verbs of the tests of tenax launch, beside those of common.sh. `deck` is the run's; output goes to NAME.out and NAME.err.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
deck=$golden/golden.toml

# launch NAME override…
launch() {
  local name=$1 status=0
  shift
  timeout 240 "$TENAX" launch $deck run.name=$name ${TENAX_DEVICE:+device.kind=$TENAX_DEVICE} "$@" >$name.out 2>$name.err </dev/null || status=$?
  return $status
}
must_launch() { launch "$@" || { cat $1.out $1.err >&2; fail "launch $1: status $?"; }; }
# must_launch_with NAME LINES override…: LINES, with ; for their ends, are the keys of an [[inject]] entry; `usual` goes before the overrides.
must_launch_with() {
  local name=$1 lines=$2
  shift 2
  sed -E "s#= \"(initial|tokens)#= \"$golden/\1#" $golden/golden.toml >$name.toml
  [ -z "$lines" ] || printf '\n[[inject]]\n%b\n' "${lines//; /\\n}" >>$name.toml
  deck=$name.toml must_launch $name $usual "$@"
}
audited_launch() { must_launch_with "$@" && audited $1; }  # the same
audited() { "$TENAX" audit runs/$1 >audit.txt || fail "audit of $1: $(cat audit.txt)"; }
events() { grep -c "\"event\": \"$2\"" runs/$1/events.jsonl || true; }
commits() { cat runs/$1/ledger.jsonl 2>/dev/null | grep -c '"squares"' || true; }

# A remote shell, to be named as replicas.remote_shell: plays every host on this machine, and writes down its calls.
stub_shell() {
  printf '#!/bin/sh\necho "$@" >>%s/calls\nshift\nexec setsid -w sh -c "$1"\n' "$PWD" >shell
  chmod +x shell
}

# A run in the background that goes on until it is stopped: strikes come when the last one has been repaired. `run` is its
# name, `overrides` what it has beside the deck; its process becomes `supervisor`. No replica is lost, as silent or as one that
# hangs, because a busy machine lets it wait for a second.
endless="run.train_steps=1000000 optimizer.lr_decay_steps=1000000 run.log_interval=1000 optimizer.adam_eps=1e-4
  replicas.dead_ms=3000 replicas.hang_factor=1e9"
supervise() {
  "$TENAX" launch $deck run.name=$run ${TENAX_DEVICE:+device.kind=$TENAX_DEVICE} "${overrides[@]}" >>$run.out 2>>$run.err </dev/null &
  supervisor=$!
}
# await_commits N: so many more than now.
await_commits() {
  local goal=$(($(commits $run) + $1))
  for _ in $(seq 1200); do
    [ "$(commits $run)" -ge $goal ] && return
    sleep 0.05
  done
  fail "no $1 further steps: $(tail -n 3 $run.out $run.err)"
}
await_members() {
  for _ in $(seq 1200); do
    grep '"members"' runs/$run/ledger.jsonl | tail -n 1 | grep -q "\[0, [0-9]*, .*\[1, [0-9]*, " && return
    sleep 0.05
  done
  fail "not both replicas: $(tail -n 5 $run.out)"
}
rank_of() { pgrep -n -f -- "^$TENAX --join $PWD/runs/$run/replica-$1/join" || true; }
stop_run() {
  kill -USR1 $supervisor
  wait $supervisor || fail "status $? when asked to stop: $(cat $run.err)"
}
# none_left: of the ranks that were killed, which takes a moment.
none_left() {
  for _ in $(seq 100); do
    pgrep -f -- "--join $PWD/runs/" >/dev/null || return 0
    sleep 0.05
  done
  fail "processes are left: $(pgrep -af -- "--join $PWD/runs/")"
}
stop_all() {
  kill -KILL $supervisor 2>/dev/null || true
  pkill -KILL -f -- "--join $PWD/" || true
}

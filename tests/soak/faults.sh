#!/usr/bin/env bash
# Runs of four ranks that get a random signal at a random step: KILL, STOP, TERM (to a rank) or USR1 (to mpirun). Each must end
# as documented, leave nothing behind and a newest checkpoint that loads, and, started again, learn the bits of a quiet run.
#
#   bash tests/soak/faults.sh [RUNS=60] [SEED=1]
source "$(dirname "$0")/common.sh"
runs=${1:-60}
RANDOM=${2:-1}
enter_work faults
quiet_runs

some_rank() { ranks | shuf -n 1 --random-source=<(yes "$RANDOM"); }

# strike KIND: sends it; false if the run had ended.
strike() {
  local rank
  rank=$(some_rank)
  [ -n "$rank" ] || return 1
  case $1 in
    USR1) kill -USR1 "$job" ;;
    *) kill "-$1" "$rank" ;;
  esac 2>/dev/null || return 1
  [ "$1" != STOP ] || { sleep 10; kill -CONT "$rank" 2>/dev/null; true; }
}

one_fault() {
  local name=run-$1 sizes=${layouts[$(($1 % 3))]} kinds=(KILL STOP TERM USR1) kind step
  kind=${kinds[$((RANDOM % 4))]} step=$((1 + RANDOM % 380))
  start "$name" "$sizes"
  await_step "$name" "$step"
  if ! strike "$kind"; then tally "$kind, too late"; fi
  ended_within 300 || { failed "$name: $kind at step $step: not ended after 300 s"; kill -KILL "$job"; return; }
  case $kind in
    TERM | USR1) [ "$status" = 0 ] || failed "$name: $kind at step $step: status $status: $(cat "$name.err")" ;;
    STOP) [ "$status" = 0 ] || [ "$(grep -c . "$name.err")" = 1 ] || failed "$name: STOP: not one line: $(cat "$name.err")" ;;
  esac
  nothing_left || failed "$name: $kind at step $step"
  newest_checkpoint_loads "$name" || failed "$name: $kind at step $step: its newest checkpoint"
  train 4 soak.toml "run.name=$name" $(layout $sizes) || failed "$name: resuming after $kind: $(cat err.log)"
  as_quiet "$name" "$sizes" || failed "$name: after $kind at step $step, layout $sizes"
  tally "$kind, status $status"
  rm -rf "runs/$name"
}

for ((run = 0; run < runs; ++run)); do one_fault $run; done
finish "$runs runs with a signal"

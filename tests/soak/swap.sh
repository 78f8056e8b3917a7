#!/usr/bin/env bash
# Ranks that change places away from a slow link, one of which is killed at a random moment of that. The run must end within
# comm.deadline_s with mpirun's status, leave nothing behind and a newest checkpoint that loads, and, started again
# elsewhere, learn the bits of a quiet run.
#
#   bash tests/soak/swap.sh [KILLS=20] [SEED=1]
source "$(dirname "$0")/common.sh"
kills=${1:-20}
RANDOM=${2:-1}
enter_work swap
layouts=("1 2 2")
steps="run.train_steps=44 optimizer.lr_decay_steps=44 run.eval_interval=0 model.hidden_size=128 checkpoint.interval=7 pipeline.p2p=direct"
slow_link="inject.0.kind=link_delay inject.0.ranks=[0,1] inject.0.delay_ms=30 inject.0.from_step=18"
disturbed="$steps detect.probe_seconds=0.3 mitigate.strategies=[\"swap\"] $slow_link"
deadline_s=$(sed -n 's/^deadline_s = //p' soak.toml)
quiet_runs $steps

has_event() { grep -q "\"event\": \"$2\"" "runs/$1/events.jsonl" 2>/dev/null; }
# Address space of a rank: while places change, the connections of both the old and the new replica are in it.
pages_of() { local pages _; read -r pages _ 2>/dev/null <"/proc/$1/statm" && echo "$pages"; }

# await_swap NAME: until the ranks have begun to; false if the run has ended.
await_swap() {
  local rank usual
  while ! has_event "$1" fail_slow; do
    kill -0 "$job" 2>/dev/null || return 1
    sleep 0.005
  done
  rank=$(ranks | tail -n 1)
  usual=$(pages_of "$rank")
  while [ "$(pages_of "$rank")" = "$usual" ]; do
    kill -0 "$job" 2>/dev/null || return 1
    sleep 0.002
  done
}

# How long that takes.
for whole in whole-1 whole-2 whole-3; do
  start $whole "1 2 2" $disturbed
  ended_within 120 || die "the run that is not killed does not end"
  as_quiet $whole "1 2 2" || failed "a run that is not killed"
  swap_ms=$(sed -n 's/.*"strategy": "swap".*"cost_seconds": \([0-9.]*\),.*/\1/p' runs/$whole/events.jsonl | awk 'NR == 1 { print int(1000 * $1) }')
  [ -z "$swap_ms" ] || break
done
[ -n "$swap_ms" ] || die "no ranks changed places: $(cat runs/$whole/events.jsonl)"
say "ranks change places in $swap_ms ms"

# one_kill NUMBER MOST_MS: at a random moment of so many from a swap's begin. False: the run was over by then.
one_kill() {
  local name=run-$1-$2 victim at_ms killed done place=in
  start "$name" "1 2 2" $disturbed
  if ! await_swap "$name"; then tally "no swap"; wait "$job"; return 0; fi
  done=$(steps_done "$name")
  at_ms=$((RANDOM % ($2 + 1)))
  sleep "$(awk "BEGIN { print $at_ms / 1000 }")"
  victim=$(ranks | shuf -n 1 --random-source=<(yes "$RANDOM"))
  [ "$(steps_done "$name")" = "$done" ] || place=after
  if ! kill -KILL "${victim:-none}" 2>/dev/null; then tally "over before its kill"; wait "$job"; return 1; fi
  killed=$SECONDS
  ended_within $((deadline_s + 2)) || { failed "$name: killed after $at_ms ms of a swap: not ended"; kill -KILL "$job"; return 0; }
  tally "killed $place it, ended within $((SECONDS - killed + 1)) s"
  [ "$status" = 137 ] || failed "$name: killed after $at_ms ms of a swap: status $status: $(cat "$name.err")"
  nothing_left || failed "$name: killed after $at_ms ms of a swap"
  newest_checkpoint_loads "$name" || failed "$name: killed after $at_ms ms of a swap: its newest checkpoint"
  train 4 soak.toml "run.name=$name" $(layout 1 2 2) $steps || failed "$name: resuming: $(cat err.log)"
  as_quiet "$name" "1 2 2" || failed "$name: after a kill $at_ms ms into a swap"
  return 0
}

# A swap that waited for a checkpoint takes many times as long as another.
for ((kill = 0; kill < kills; ++kill)); do
  most_ms=$swap_ms
  until one_kill $kill $most_ms; do most_ms=$((most_ms / 2)); done
done
finish "$kills kills"

#!/usr/bin/env bash
# Power cuts: all processes of a run are killed at the same moment, every time while a checkpoint is being written. The next
# start must take the newest complete one, sweep what is left of the other, and learn the bits of a quiet run.
#
#   bash tests/soak/power.sh [CUTS=30] [SEED=1]
source "$(dirname "$0")/common.sh"
cuts=${1:-30}
RANDOM=${2:-1}
enter_work power
overrides="checkpoint.interval=5 run.train_steps=150 optimizer.lr_decay_steps=150 run.eval_interval=0"
quiet_runs $overrides

writing() { ls -A "runs/$1/checkpoints" 2>/dev/null | grep -q '^\.step-.*\.tmp-'; }

one_cut() {
  local name=run-$1 sizes=${layouts[$(($1 % 3))]} step
  step=$((1 + RANDOM % 120))
  start "$name" "$sizes" $overrides
  await_step "$name" "$step"
  while kill -0 "$job" 2>/dev/null && ! writing "$name"; do :; done
  kill -KILL "$job" $(ranks) 2>/dev/null
  wait "$job" 2>/dev/null
  writing "$name" && tally "cut while a checkpoint was written" || tally "cut at another moment"
  nothing_left || failed "$name: after the cut"
  newest_checkpoint_loads "$name" || failed "$name: its newest checkpoint"
  train 4 soak.toml "run.name=$name" $(layout $sizes) $overrides || failed "$name: resuming: $(cat err.log)"
  as_quiet "$name" "$sizes" || failed "$name: after a cut near step $step, layout $sizes"
  rm -rf "runs/$name"
}

for ((cut = 0; cut < cuts; ++cut)); do one_cut $cut; done
finish "$cuts power cuts"

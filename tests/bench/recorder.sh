#!/usr/bin/env bash
# What the flight recorder costs: a step of two emulated replicas with it, and by another program without, in turn.
#
#   bash tests/bench/recorder.sh --without TENAX [--rounds 5] [--steps 200] [--check]
#
# TENAX: the program of a build that has no recorder and is the same otherwise (of the commit before it, say).
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

rounds=5 steps=200 without=
take_options "rounds steps without" "" "$@"
[ -x "$without" ] || die "--without needs the path of a program (the head of $0)"

# step_ms PROGRAM NAME: the median of a run's steps.
step_ms() {
  rm -rf "${bench_work:?}/$2"
  "$1" launch "$bench_folder/replicas.toml" run.output_dir="$bench_work/$2" run.train_steps="$steps" parallel.replicas=2 \
    parallel.data_parallel_size=2 batch.global_batch_size=32 checkpoint.interval=-1 device.forward_ms=1 device.backward_input_ms=1 \
    device.backward_weight_ms=1 >"$bench_work/$2.log" 2>&1 </dev/null || { cat "$bench_work/$2.log" >&2; die "$2 failed"; }
  python3 "$bench_folder/replicas_figures.py" step "$bench_work/$2"
}

prepare_bench
build_target recorder_bench
"$tenax_build/tests/bench/recorder_bench"
warn_if_busy
for ((i = 0; i < rounds; ++i)); do
  off=$(step_ms "$without" recorder-off) on=$(step_ms "$tenax_build/tenax" recorder-on)
  say "without $off ms, with $on ms"
  awk "BEGIN { print 100 * ($on / $off - 1) }" >>"$bench_work/recorder.percents"
done
meets recorder.percent "$(median <"$bench_work/recorder.percents")"
rm "$bench_work/recorder.percents"
end_with_goals

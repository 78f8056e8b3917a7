#!/usr/bin/env bash
# What the digests of the state cost: a step of two replicas on the CPU with them, and without, in turn. By default a step digests a
# sixteenth of the state, which is less than a step varies by: here each digests all of it, and a sixteenth of what that takes is
# told. What a digest adds to a vote, 192 bytes whatever its slice, is thereby told too small.
#
#   bash tests/bench/digests.sh [--sizes "tiny small"] [--rounds 5] [--steps 200] [--check]
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

sizes="tiny small" rounds=5 steps=200
take_options "sizes rounds steps" "" "$@"

# step_ms SIZE DIGEST_STEPS: the median of a run's steps.
step_ms() {
  ends digests "$tenax_build/tenax" launch "$bench_folder/$1.toml" run.train_steps="$steps" checkpoint.interval=-1 parallel.replicas=2 \
    parallel.data_parallel_size=1 parallel.tensor_parallel_size=1 replicas.digest_steps="$2"
  python3 "$bench_folder/replicas_figures.py" step "$bench_work/digests"
}

prepare_bench
warn_if_busy
for size in $sizes; do
  : >"$bench_work/digests.percents"
  for ((i = 0; i < rounds; ++i)); do
    off=$(step_ms "$size" 0) on=$(step_ms "$size" 1)
    say "$size: without $off ms, with $on ms, all of the state in each"
    awk "BEGIN { print 100 * ($on / $off - 1) / 16 }" >>"$bench_work/digests.percents"
  done
  meets digests.percent "$(median <"$bench_work/digests.percents")" "$size"
done
end_with_goals

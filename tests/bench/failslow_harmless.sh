#!/usr/bin/env bash
# Whether a run that may do everything against what is slow leaves things alone where nobody is: the quickstart beside a compiler, which
# takes both cores by turns, and alone.
#
#   bash tests/bench/failslow_harmless.sh [neighbour] [alone] [--runs 10] [--steps 300] [--check]
#
# Without a part both run: some 15 minutes.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

runs=10 steps=300 parts=()
take_options "runs steps" "neighbour alone" "$@"
[ ${#parts[@]} -gt 0 ] || parts=(neighbour alone)
figures=$bench_folder/failslow_harmless.py

# quickstart NAME RUN: may do all that keeps a run where it is; every other time in a layout in which micro-batches can be shared out.
quickstart() {
  local tensor=$((1 + $2 % 2))
  ends "$1" mpirun -n 4 "$tenax_build/tenax" "$tenax_root/inputs/quickstart.toml" run.train_steps="$steps" run.seed="$2" run.eval_interval=0 \
    parallel.tensor_parallel_size=$tensor parallel.data_parallel_size=$((2 / tensor)) 'mitigate.strategies=["microbatches", "ring", "swap"]'
}
told() { python3 "$figures" "$1" "$bench_work/$2"; }
do_neighbour() {
  local run unnamed=0 twice=0
  compiles &
  local neighbour=$!
  trap 'kill $neighbour 2>/dev/null' EXIT
  for ((run = 1; run <= runs; ++run)); do
    quickstart harmless $run
    say "beside a compiler, run $run: $(told told harmless) events, $(grep -c '"mitigate"' "$bench_work/harmless/events.jsonl") things done," \
      "$(grep -c '"revert"' "$bench_work/harmless/events.jsonl") undone"
    unnamed=$((unnamed + $(told unnamed harmless))) twice=$((twice + $(told twice harmless)))
  done
  kill $neighbour
  wait $neighbour 2>/dev/null
  trap - EXIT
  meets harmless.unnamed $unnamed "$runs runs of $steps steps"
  meets harmless.undone_twice $twice "$runs runs of $steps steps"
}
do_alone() {
  local run events=0
  keep_awake
  for ((run = 1; run <= runs; ++run)); do
    quickstart alone-$run $run
    say "alone, run $run: $(told told alone-$run) events (build/bench/alone-$run)"
    events=$((events + $(told told alone-$run)))
  done
  meets harmless.alone_events $events "$runs runs of $steps steps"
}

with_build_lock prepare_bench
export_mpi_environment
for part in "${parts[@]}"; do "do_$part"; done
end_with_goals

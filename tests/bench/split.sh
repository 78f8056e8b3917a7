#!/usr/bin/env bash
# What a second rank on a second core brings: tokens/s of two ranks against one rank, same deck and batch.
#
#   bash tests/bench/split.sh [--rounds 3] [--dtype fp32|bf16] [--check]
#
# Each side uses its best micro-batch size, found in one run each; then both are run in turn, medians over the rounds.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

rounds=3 dtype=fp32
take_options "rounds dtype" "" "$@"

one="parallel.data_parallel_size=1 parallel.tensor_parallel_size=1 parallel.pipeline_parallel_size=1"

# rate RANKS DECK MICRO_BATCH_SIZE LAYOUT…: one run.
rate() {
  local ranks=$1 deck=$2 micro=$3
  shift 3
  tenax_rate "$ranks" "$deck" run.train_steps=15 model.compute_dtype=$dtype batch.global_batch_size=8 \
    batch.micro_batch_size="$micro" $one "$@"
}

# best_micro RANKS DECK LAYOUT MICRO_BATCH_SIZES…: the fastest of them in one run each.
best_micro() {
  local ranks=$1 deck=$2 layout=$3 micro
  shift 3
  for micro in "$@"; do echo "$(rate "$ranks" "$deck" "$micro" $layout) $micro"; done | sort -g | tail -n 1 | cut -d ' ' -f 2
}

compare() {  # NAME DECK GOAL (of goals.sh) LAYOUT MICRO_BATCH_SIZES…
  local name=$1 deck=$2 goal=$3 layout=$4 round single split
  shift 4
  warn_if_busy
  local micro_of_one micro_of_two
  micro_of_one=$(best_micro 1 "$deck" "" 8 4 2 1)
  micro_of_two=$(best_micro 2 "$deck" "$layout" "$@")
  : >"$bench_work/single.rates" >"$bench_work/split.rates"
  for ((round = 0; round < rounds; ++round)); do
    rate 1 "$deck" "$micro_of_one" >>"$bench_work/single.rates"
    rate 2 "$deck" "$micro_of_two" "$layout" >>"$bench_work/split.rates"
  done
  single=$(median <"$bench_work/single.rates") split=$(median <"$bench_work/split.rates")
  printf '%-34s %9.0f %9.0f %6.2f\n' "$name" "$single" "$split" "$(awk "BEGIN { print $split / $single }")"
  meets "$goal" "$(awk "BEGIN { print $split / $single }")"
}

with_build_lock prepare_bench
export_mpi_environment
printf '%-34s %9s %9s %6s\n' "tokens/s, $dtype, batch 8" '1 rank' '2 ranks' ratio
compare 'data 2, small' small split.data parallel.data_parallel_size=2 4 2
compare 'tensor 2, small' small split.tensor parallel.tensor_parallel_size=2 8 4
compare 'pipeline 2, deep, 8 micro-batches' deep split.pipeline parallel.pipeline_parallel_size=2 1
end_with_goals

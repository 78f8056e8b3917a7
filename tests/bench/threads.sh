#!/usr/bin/env bash
# One rank of two threads beside two ranks of one: tokens/s and memory, in turn, same deck and batch.
#
#   bash tests/bench/threads.sh [--rounds 5] [--sizes "tiny small gpt2-124m"] [--dtypes "fp32 bf16"] [--check]
#
# The lone rank takes micro-batches of the sequences that both ranks have at a time. Figures are medians over the rounds; memory is
# the peak of one run each (proportional set size, all processes).
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

rounds=5 sizes="tiny small gpt2-124m" dtypes="fp32 bf16"
take_options "rounds sizes dtypes" "" "$@"

# Sets `two` and `one`, the sides' ranks and overrides; the decks' own layout is that of two ranks.
sides_of() {
  local micro
  case $1 in tiny) micro=8 ;; small) micro=4 ;; *) micro=1 ;; esac
  two=(2 "$1")
  one=(1 "$1" device.threads=2 parallel.data_parallel_size=1 parallel.tensor_parallel_size=1 batch.micro_batch_size=$micro)
}

memory() {
  rm -rf "$bench_work/run"
  $(tenax_command "$@") run.train_steps=6 >/dev/null 2>&1 &
  pss_peak_mib $!
  wait
}

measure() {  # SIZE DTYPE
  local type=model.compute_dtype=$2 round ratio two_mib one_mib two one
  sides_of "$1"
  warn_if_busy
  : >"$bench_work/two.rates" >"$bench_work/one.rates"
  for ((round = 0; round < rounds; ++round)); do
    tenax_rate "${two[@]}" $type >>"$bench_work/two.rates"
    tenax_rate "${one[@]}" $type >>"$bench_work/one.rates"
  done
  ratio=$(paste "$bench_work/one.rates" "$bench_work/two.rates" | awk '{ print $1 / $2 }' | median)
  two_mib=$(memory "${two[@]}" $type) one_mib=$(memory "${one[@]}" $type)
  printf '%-10s %-5s %9.0f %9.0f %7.3f %9s %9s\n' "$1" "$2" "$(median <"$bench_work/two.rates")" \
    "$(median <"$bench_work/one.rates")" "$ratio" "$two_mib" "$one_mib"
  meets threads.speed "$ratio" "$1, $2"
  meets threads.memory "$(awk "BEGIN { print $one_mib / $two_mib }")" "$1, $2"
}

with_build_lock prepare_bench
export_mpi_environment
grep -m1 'model name' /proc/cpuinfo
printf '%-10s %-5s %9s %9s %7s %9s %9s\n' size type "2 ranks" "2 threads" ratio "MiB of 2" "of 1"
for size in $sizes; do
  for dtype in $dtypes; do measure "$size" "$dtype"; done
done
end_with_goals

#!/usr/bin/env bash
# What it takes that two ranks change places, beside a checkpoint, the run's end, its start and the checkpoint's restoring: in each
# round one run of four ranks on the CPU, whose ranks leave a slow link, and which is then stopped and started again.
#
#   bash tests/bench/swap.sh [--sizes "2 8"] [--rounds 3] [--delay_ms 5] [--check]
#
# A size is a number of layers: each two are 118 MB of state a rank (16, nearly 1 GB, need 20 GB of memory). --delay_ms: of each message over the slow link.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

sizes="2 8" rounds=3 delay_ms=5
take_options "sizes rounds delay_ms" "" "$@"
readonly steps=45

# trains STEPS LAYERS override…: goes on in build/bench/swap.
trains() {
  mpirun -n 4 "$tenax_build/tenax" "$bench_folder/swap.toml" run.output_dir="$bench_work/swap" run.train_steps="$1" \
    optimizer.lr_decay_steps=100 model.num_layers="$2" inject.0.delay_ms="$delay_ms" "${@:3}" >"$bench_work/swap.log" 2>&1 </dev/null ||
    { cat "$bench_work/swap.log" >&2; die "a run of $2 layers failed"; }
}
last_step_end() { stat -c %.3Y "$bench_work/swap/metrics.jsonl"; }
number_of() { sed -n "s/.*\"$1\": *\([0-9.e-]*\).*/\1/p"; }

# one_round LAYERS: appends the seconds of a swap and of a restart.
one_round() {
  local swapped ended began last
  rm -rf "$bench_work/swap"
  trains $steps "$1"
  ended=$(last_step_end)
  swapped=$(grep '"event": "mitigate", "strategy": "swap"' "$bench_work/swap/events.jsonl" | head -n 1)
  [ -n "$swapped" ] || die "no ranks changed places: $(cat "$bench_work/swap/events.jsonl")"
  trains $((steps + 1)) "$1" mitigate.strategies=[]
  began=$(last_step_end)
  last=$(tail -n 1 "$bench_work/swap/metrics.jsonl" | number_of seconds)
  number_of cost_seconds <<<"$swapped" >>"$bench_work/swap.swaps"
  awk "BEGIN { print $began - $last - $ended }" >>"$bench_work/swap.restarts"
  bytes=$(number_of bytes <<<"$swapped")
}

with_build_lock prepare_bench
export_mpi_environment
warn_if_busy
for layers in $sizes; do
  rm -f "$bench_work"/swap.{swaps,restarts}
  for ((round = 0; round < rounds; ++round)); do one_round "$layers"; done
  swap_s=$(median <"$bench_work/swap.swaps") restart_s=$(median <"$bench_work/swap.restarts")
  ratio=$(awk "BEGIN { printf \"%.2f\", $restart_s / $swap_s }")
  printf '%d MB a rank: swap %s s, restart %s s: %s x  (swaps %s; restarts %s)\n' $((bytes / 1000000)) "$swap_s" "$restart_s" "$ratio" \
    "$(paste -sd' ' "$bench_work/swap.swaps")" "$(paste -sd' ' "$bench_work/swap.restarts")"
  meets swap.over_restart "$ratio" "$((bytes / 1000000)) MB a rank"
done
rm -rf "$bench_work/swap"
end_with_goals

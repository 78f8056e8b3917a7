#!/usr/bin/env bash
# Live hangs of emulated jobs of 8 to 32 ranks under tenax launch: whether the rank is named first, how soon, and whether its
# replica alone starts again. Kinds, ranks and layouts are drawn by the seed.
#
#   bash tests/bench/hangs.sh [--runs 200] [--seed 1] [--largest 32] [--check]
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

runs=200 seed=1 largest=32
take_options "runs seed largest" "" "$@"
layouts="2:1:2:2 2:2:1:2 1:2:2:2 1:2:4:1 2:2:2:1 2:2:2:2 1:4:2:2 2:1:4:2 1:2:4:3 2:2:4:2 2:2:2:4"  # tensor:pipeline:data:replicas
RANDOM=$seed
draw() { local words=("$@"); echo "${words[RANDOM % ${#words[@]}]}"; }

# hang N: one run. Prints: verdict kind layout replica rank seconds.
hang() {
  local name=hang-$1 t p d r kind lines layout
  layout=$(draw $layouts)
  IFS=: read -r t p d r <<<"$layout"
  local ranks=$((t * p * d))
  [ $((ranks * r)) -le "$largest" ] || { hang "$1"; return; }
  local replica=$((RANDOM % r)) rank=$((RANDOM % ranks))
  kind=$(draw pass skip_collective connection stop)
  [ $kind != skip_collective ] || [ $((t * d)) -gt 1 ] || kind=pass
  lines="kind = \"hang\"\nwhere = \"$kind\""
  [ $kind != stop ] || lines='kind = "process"\nsignal = "STOP"\npoint = "exchange"'
  { cat "$bench_folder/replicas.toml"; printf '\n[[inject]]\n%b\nfrom_step = %d\nreplica = %d\nrank = %d\n' "$lines" $((8 + RANDOM % 8)) $replica $rank; } \
    >"$bench_work/$name.toml"
  rm -rf "${bench_work:?}/$name"
  # A rank that stops is missed by its heartbeat, unless that may be late.
  timeout 180 "$tenax_build/tenax" launch "$bench_work/$name.toml" run.output_dir="$bench_work/$name" run.train_steps=30 \
    parallel.tensor_parallel_size=$t parallel.pipeline_parallel_size=$p parallel.data_parallel_size=$d parallel.replicas=$r \
    batch.global_batch_size=$((4 * d * r * p)) replicas.dead_ms=20000 checkpoint.interval=-1 comm.deadline_s=90 \
    >"$bench_work/$name.log" 2>&1 </dev/null
  local status=$? named verdict=WRONG seconds
  named=$(grep -h '"event": "hang"' "$bench_work/$name/events.jsonl" 2>/dev/null | grep -oE '\{"replica": [0-9]+, "rank": [0-9]+' | grep -oE '[0-9]+' | paste -sd ' ')
  seconds=$(grep -h '"event": "hang"' "$bench_work/$name/events.jsonl" 2>/dev/null | grep -oE '"seconds": [0-9.]+' | head -n 1 | grep -oE '[0-9.]+')
  case "$named " in "$replica $rank "*) verdict=first ;; *"$replica $rank "*) verdict=named ;; esac
  [ $status = 0 ] || verdict="$verdict,status=$status"
  [ "$(grep -c '"event": "hang"' "$bench_work/$name/events.jsonl")" = 1 ] || verdict="$verdict,not-one-hang"
  echo "$verdict $kind t$t.p$p.d$d.x$r replica $replica rank $rank named: $named; stood ${seconds:-?} s"
  [ "$verdict" = first ] && rm -rf "${bench_work:?}/$name" "$bench_work/$name.toml" "$bench_work/$name.log"
}

prepare_bench
first=0 wrong=0
for ((i = 0; i < runs; ++i)); do
  line=$(hang $i)
  RANDOM=$((seed + i + 1))
  say "$line"
  case $line in first\ *) first=$((first + 1)) ;; named*) ;; *) wrong=$((wrong + 1)) ;; esac
done
meets hangs.first_percent "$(awk "BEGIN { print 100 * $first / $runs }")"
meets hangs.not_named "$wrong"
end_with_goals

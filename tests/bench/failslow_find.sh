#!/usr/bin/env bash
# Whether a run finds what has become slow, and says so: seeded faults on the emulated device, runs without any, a busy core, a
# machine that compiles, the rounds of a validation, and what the looking costs.
#
#   bash tests/bench/failslow_find.sh [cases] [quiet] [hog] [neighbours] [rounds] [cost] [--cases 40] [--first 0] [--seed 1]
#        [--runs 10] [--steps 400] [--check]
#
# Without a part all of them run: some 40 minutes. --first: the number of the first case; --steps: of a quiet run.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

cases=40 first=0 seed=1 runs=10 steps=400 parts=()
take_options "cases first seed runs steps" "cases quiet hog neighbours rounds cost" "$@"
[ ${#parts[@]} -gt 0 ] || parts=(cases quiet hog neighbours rounds cost)
figures=$bench_folder/failslow_find.py

# emulated NAME RANKS override…: failslow.toml.
emulated() { ends "$1" mpirun -n "$2" "$tenax_build/tenax" "$bench_folder/failslow.toml" "${@:3}"; }
do_cases() {
  local number missed=0 unhealed=0 overrides verdict
  for ((number = first; number < first + cases; ++number)); do
    mapfile -t overrides < <(python3 "$figures" case "$seed" "$number" "$bench_work/case.json")
    emulated case 16 "${overrides[@]}"
    verdict=0
    printf '%3d  ' "$number"
    python3 "$figures" judge "$bench_work/case" "$bench_work/case.json" || verdict=$?
    case $verdict in
      0) ;;
      2) unhealed=$((unhealed + 1)) ;;
      *) missed=$((missed + 1)); rm -rf "$bench_work/missed-$number"; cp -r "$bench_work/case" "$bench_work/missed-$number" ;;
    esac
  done
  meets failslow.cases_missed "$missed" "of $cases, seed $seed"
  meets failslow.cases_unhealed "$unhealed" "of the others"
}
do_quiet() {
  local run told all=0
  for ((run = 1; run <= runs; ++run)); do
    emulated quiet 16 run.train_steps="$steps" run.seed="$((seed + run))"
    told=$(python3 "$figures" told "$bench_work/quiet" onset relief fail_slow)
    say "quiet, run $run: $(python3 "$figures" iteration "$bench_work/quiet") ms an iteration, $told events"
    all=$((all + told))
  done
  meets failslow.quiet_events "$all" "$runs runs of $steps steps"
}

readonly hog_from=40 hog_steps=60
do_hog() {
  local run found=0 different=0
  pinned untold run.train_steps=160 detect.enabled=false
  for ((run = 1; run <= runs; ++run)); do
    rm -rf "$bench_work/hog"
    pinned hog run.train_steps=160 &
    printf 'hog, run %d: ' "$run"
    python3 "$figures" hog "$bench_work/hog" $! "$core_1" "$hog_from" "$hog_steps" && found=$((found + 1))
    wait $! || die "hog failed"
    python3 "$figures" same "$bench_work/hog" "$bench_work/untold" || different=$((different + 1))
  done
  meets failslow.hog_percent "$((100 * found / runs))" "$runs runs"
  meets failslow.hog_different "$different" "of $runs runs beside one with detect.enabled = false"
}

do_neighbours() {
  local run told all=0
  compiles &
  local neighbour=$!
  trap 'kill $neighbour 2>/dev/null' EXIT
  for ((run = 1; run <= runs; ++run)); do
    pinned neighbours run.train_steps=300
    told=$(python3 "$figures" blamed "$bench_work/neighbours")
    say "neighbours, run $run: onset $(python3 "$figures" told "$bench_work/neighbours" onset) times, fail_slow" \
      "$(python3 "$figures" told "$bench_work/neighbours" fail_slow) times, $told components blamed for compute or link"
    all=$((all + told))
  done
  kill $neighbour
  wait $neighbour 2>/dev/null
  trap - EXIT
  meets failslow.neighbours_blamed "$all" "$runs runs of 300 steps"
}

do_rounds() {
  local rounds=$tenax_build/tests/bench/link_probe_bench
  "$rounds" | tee "$bench_work/rounds.log"
  meets failslow.round_spread_percent "$(sed -n 's/^the longest round is \([0-9.]*\) %.*/\1/p' "$bench_work/rounds.log")"
}

# 8 ranks, steps of 20 ms.
readonly twenty_ms=(parallel.tensor_parallel_size=1 parallel.data_parallel_size=8 parallel.pipeline_parallel_size=1
  device.forward_ms=3 device.backward_input_ms=3 device.backward_weight_ms=3 device.gradient_bytes=80000 run.train_steps=300)
do_cost() {
  local round
  rm -f "$bench_work"/cost.{on,off}
  for round in 1 2 3 4 5; do
    emulated on 8 "${twenty_ms[@]}"
    emulated off 8 "${twenty_ms[@]}" detect.enabled=false
    for side in on off; do python3 "$figures" iteration "$bench_work/$side" >>"$bench_work/cost.$side"; done
    meets failslow.tracking_percent "$(python3 "$figures" share "$bench_work/on")" "round $round"
  done
  for side in on off; do
    say "detection $side: $(median <"$bench_work/cost.$side") ms an iteration, $(sort -g "$bench_work/cost.$side" | sed -n '1p;$p' | paste -sd' ' | sed 's/ / to /')"
  done
}

build() {
  prepare_bench -DTENAX_TESTS=ON
  [[ " ${parts[*]} " != *" rounds "* ]] || build_target link_probe_bench
}
with_build_lock build
export_mpi_environment
warn_if_busy
keep_awake
for part in "${parts[@]}"; do "do_$part"; done
end_with_goals

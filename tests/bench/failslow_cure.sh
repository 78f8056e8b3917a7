#!/usr/bin/env bash
# What a run does against what has become slow, and what that achieves: emulated ranks, faults that the run knows nothing of. Figures
# are iterations under the fault, once all is done, relative to healthy ones before it.
#
#   bash tests/bench/failslow_cure.sh [shares] [groups] [ring] [swap] [deep] [all_slow] [pipelined] [compound] [events] [hog]
#        [--steps 110] [--runs "healthy none all"] [--check]
#
# Without a part all of them run: some 40 minutes. hog: on the CPU, a busy core beside rank 1. --runs: of events; those
# that are left out are as they were left.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"
source "$bench_folder/failslow_cure_long.sh"

all_parts=(shares groups ring swap deep all_slow pipelined compound events hog)
steps=110 from=30 runs="healthy none all" parts=()
take_options "steps runs" "${all_parts[*]}" "$@"
[ ${#parts[@]} -gt 0 ] || parts=("${all_parts[@]}")
figures=$bench_folder/failslow_cure.py
microbatches=24
to=$((steps - 20))  # the fault's end
pass_ms=2

# cured NAME DATA STAGES MICROBATCHES override…: a fault in steps 30 to 90 of 110.
cured() {
  local name=$1 data=$2 stages=$3 microbatches=$4 i faults=()
  shift 4
  for ((i = 0; i < 32; ++i)); do
    [[ " $* " != *" inject.$i.kind="* ]] || faults+=(inject.$i.from_step=$from inject.$i.to_step=$to)
  done
  ends "$name" mpirun -n "$((data * stages))" "$tenax_build/tenax" "$bench_folder/failslow.toml" run.train_steps="$steps" \
    parallel.tensor_parallel_size=1 parallel.data_parallel_size="$data" parallel.pipeline_parallel_size="$stages" \
    batch.global_batch_size=$((data * microbatches)) device.forward_ms=$pass_ms device.backward_input_ms=$pass_ms \
    device.backward_weight_ms=$pass_ms \
    "${faults[@]}" "$@"
}
slow_rank() { echo "inject.$1.kind=slow_compute inject.$1.rank=$2 inject.$1.factor=$3"; }
slow_link() { echo "inject.$1.kind=link_delay inject.$1.ranks=[$2,$3] inject.$1.delay_ms=$4"; }
ratio() { python3 "$figures" ratio "$bench_work/$1" "$from" "$to"; }
over() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'; }
larger() { awk -v a="$1" -v b="$2" 'BEGIN { print (a > b) ? a : b }'; }
off() { awk -v a="$1" -v b="$2" 'BEGIN { print (a > b) ? a - b : b - a }'; }
bought() { python3 "$figures" bought "$bench_work/$1" || early=$((early + 1)); }

# shared DATA FACTOR SLOW: so many ranks are FACTOR times as slow.
shared() {
  local data=$1 factor=$2 slow=$3 i faults=()
  for ((i = 0; i < slow; ++i)); do faults+=($(slow_rank $i $((data - 1 - i)) "$factor")); done
  cured shares "$data" 1 $microbatches 'mitigate.strategies=["microbatches"]' ${faults[@]+"${faults[@]}"}
  best=$(python3 "$figures" optimum "$data" "$factor" "$slow" $microbatches)
  reached=$(ratio shares)
  bought shares
  printf 'data %d, %d of them %s x: %s, best split %s  %s\n' "$data" "$slow" "$factor" "$reached" "$best" \
    "$(python3 "$figures" actions "$bench_work/shares")"
}
do_shares() {
  local data factor worst=0
  for data in 2 4 8; do
    for factor in 1.3 1.7 2.5; do
      shared $data $factor 1
      worst=$(larger "$worst" "$(over "$reached" "$best")")
    done
  done
  meets cure.shares_over_optimum "$worst" "the worst of nine"
}
do_groups() {
  local slow worst=0
  for slow in 0 1 2 3 4; do
    shared 4 1.7 $slow
    [ $slow = 4 ] || worst=$(larger "$worst" "$(over "$reached" "$best")")
  done
  meets cure.groups_over_optimum "$worst" "the worst of four"
  meets cure.actions_where_all_are_slow "$(grep -c '"mitigate"' "$bench_work/shares/events.jsonl")"
}
do_ring() {
  local data worst=0 reached
  for data in 4 8; do
    cured ring $data 1 $microbatches 'mitigate.strategies=["ring"]' $(slow_link 0 1 2 12)
    reached=$(ratio ring)
    bought ring
    printf 'data %d, a slow link: %s  %s\n' $data "$reached" "$(python3 "$figures" actions "$bench_work/ring")"
    worst=$(larger "$worst" "$reached")
  done
  meets cure.ring_over_healthy "$worst" "the worse of two"
}

# slow_links COUNT DELAY_MS: overrides for links of the data groups of the first stages of data 4, one each.
slow_links() {
  local i
  for ((i = 0; i < $1; ++i)); do slow_link $i $((4 * i + 1)) $((4 * i + 2)) "$2"; done
}
# swapped STAGES COUNT DELAY_MS: data 4, so many slow links, the pipelines do not adapt; sets `none` and `reached`.
swapped() {
  local links
  links=$(slow_links "$2" "$3")
  cured none 4 "$1" 8 mitigate.strategies=[] $links
  none=$(ratio none)
  cured swap 4 "$1" 8 'mitigate.strategies=["swap"]' $links
  reached=$(ratio swap)
  bought swap
  printf 'data 4 x pipeline %d, %d slow links of %s ms: none %s, swap %s  %s\n' "$1" "$2" "$3" "$none" "$reached" \
    "$(python3 "$figures" actions "$bench_work/swap")"
}
# The delays make iterations 1.6, 1.7 and 1.9 times as long where nothing is done, as in Greyhound's table.
do_swap() {
  local count none reached limits=(0 1.3 1.3 1.7) wanted=(0 1.6 1.7 1.9) delays=(0 15 18.2 24)
  for count in 1 2 3; do
    swapped 4 $count ${delays[count]}
    meets cure.swap_fault_off "$(off "$none" "${wanted[count]}")" "$count slow links"
    meets cure.swap_over_limit "$(over "$reached" "${limits[count]}")" "$count slow links"
    [ $count != 1 ] || meets cure.swap_gain_4 "$(over "$none" "$reached")"
  done
}
# 32 ranks: passes twice as long, so that two cores keep the emulated times.
do_deep() {
  local pass_ms=4 none reached
  swapped 8 1 30
  meets cure.swap_gain_8 "$(over "$none" "$reached")"
}
# All links of all data groups and pipelines.
do_all_slow() {
  local rank links=()
  for ((rank = 0; rank < 16; ++rank)); do
    links+=($(slow_link $rank $rank $((rank % 4 == 3 ? rank - 3 : rank + 1)) 20))
    [ $rank -ge 12 ] || links+=($(slow_link $((16 + rank)) $rank $((rank + 4)) 20))
  done
  cured all_slow 4 4 8 'mitigate.strategies=["ring", "swap"]' "${links[@]}"
  printf 'data 4 x pipeline 4, all links slow: %s  %s\n' "$(ratio all_slow)" "$(python3 "$figures" actions "$bench_work/all_slow")"
  meets cure.actions_where_all_are_slow "$(grep -c '"mitigate"' "$bench_work/all_slow/events.jsonl")" links
}
# Of 12 microbatches 8 or 9 belong on the free core; without that an iteration takes twice as long.
do_hog() {
  local from=40 to=140 round
  rm -f "$bench_work/hog.ratios"
  for round in 1 2 3; do
    rm -rf "$bench_work/hog"
    pinned hog run.train_steps=200 batch.global_batch_size=12 batch.micro_batch_size=1 'mitigate.strategies=["microbatches"]' &
    python3 "$bench_folder/failslow_find.py" hog "$bench_work/hog" $! "$core_1" $from $((to - from))
    wait $! || die "hog failed"
    bought hog
    ratio hog | tee -a "$bench_work/hog.ratios"
    python3 "$figures" actions "$bench_work/hog"
  done
  meets cure.hog_over_healthy "$(median <"$bench_work/hog.ratios")" "median of 3 rounds"
}

with_build_lock prepare_bench
export_mpi_environment
warn_if_busy
keep_awake
early=0
for part in "${parts[@]}"; do "do_$part"; done
meets cure.bought_too_early "$early"
end_with_goals

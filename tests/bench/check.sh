#!/usr/bin/env bash
# The goals (goals.sh) of what is measured without whole runs: the adaptive planner, the emulated device's clock,
# the culprits of large hangs, the controllers of 12 x 8192 ranks.
#
#   bash tests/bench/check.sh [planner] [emulated] [blame] [storm]     (default: all)     status 1 when a goal is missed
#
# Most of its time goes into proofs of optima.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"
check=1

# value_of LINE LABEL: the number after LABEL in the line that begins with LINE, of what say_and_keep has kept.
value_of() { sed -n "s/^$1.*$2 *\([0-9.]*\).*/\1/p" "$bench_work/check.log"; }
say_and_keep() { "$tenax_build/tests/bench/$1" "${@:2}" | tee "$bench_work/check.log"; }

do_planner() {
  local limits
  say_and_keep planner_bench exact
  for limits in "without limits" "with limits"; do
    meets planner.mean_gap_percent "$(value_of "$limits" 'mean gap')" "$limits"
    meets planner.optimal_percent "$(value_of "$limits" 'worst [0-9.]* %, ')" "$limits"
  done
  say_and_keep planner_bench bound 8 32
  meets planner.bound_gap_percent "$(value_of 'above the lower bound' 'mean gap')"
  say_and_keep planner_bench bound 64 512 1 5000
  meets planner.large_s "$(value_of 'above the lower bound' 'longest')"
}
do_emulated() {
  say_and_keep emulated_timing 16 100 10
  meets emulated.mean_lateness_ms "$(value_of lateness mean)"
}
do_blame() {
  local kind
  say_and_keep blame_bench
  for kind in stuck_pass stuck_host skipped_collective half_open stopped; do
    meets blame.large_s "$(value_of $kind together)" $kind
  done
  ! grep -q WRONG "$bench_work/check.log" || meets blame.large_s inf "another rank is named first"
}
do_storm() {
  say_and_keep replica_storm
  meets storm.change_ms "$(value_of change 'service takes')" loss
  meets storm.change_ms "$(value_of change 'for a loss,')" join
  meets storm.off_paper_percent "$(awk -v seen="$(value_of storm 'effective time')" 'BEGIN { print seen > 80 ? seen - 80 : 80 - seen }')"
  say_and_keep heartbeat_bench
  meets storm.heartbeats_percent "$(value_of 'the tree' 'to the leader:')"
}

build_all() {
  configure -DTENAX_TESTS=ON
  build_target planner_bench
  build_target emulated_timing
  build_target blame_bench
  build_target replica_storm
  build_target heartbeat_bench
}
with_build_lock build_all
mkdir -p "$bench_work"
[ $# -gt 0 ] || set -- planner emulated blame storm
for word in "$@"; do
  warn_if_busy
  "do_$word"
done
end_with_goals

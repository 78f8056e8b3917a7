# Where a step's time goes, what it takes of the GPU's memory, what an optimizer's state in host memory costs it. Sourced by
# gpu.sh.

do_table() {
  local size batch failed=0 last=
  for size in $sizes; do
    knows_size "$size" || failed=1
    [ -n "$batch" ] || continue
    last="$size $batch"
    table_of "$size" "$batch" || failed=1
  done
  # shellcheck disable=SC2086  # two words
  [ -z "$last" ] || optimizer_offload $last || failed=1
  return $failed
}

# Memory also with one sequence: what a plan forgets is little beside a large micro-batch.
table_of() {  # SIZE BATCH
  local failed=0
  part "step-$1" measured_step "$1" "$2" || failed=1
  part "memory-$1" measured_step "$1" 1 >/dev/null || failed=1
  ! is_done "step-$1" || slow_operations "$parts/step-$1.done" || failed=1
  ! is_done "step-$1" || memory_holds "$parts/step-$1.done" "$1, micro-batch $2" || failed=1
  ! is_done "memory-$1" || memory_holds "$parts/memory-$1.done" "$1, micro-batch 1" || failed=1
  return $failed
}
measured_step() {  # SIZE BATCH, one micro-batch a step
  local options
  read -ra options <<<"$(gpu_options "$1" "$2") batch.global_batch_size=$2"
  echo "$1, micro-batch $2"
  planned "$1" "${options[@]}" >"$bench_work/step-plan" || return 1
  echo "tenax plan: $(number_in total "$bench_work/step-plan") bytes"
  mpirun -n 1 "$tenax_build/tests/bench/step_breakdown" "$bench_folder/$1.toml" --steps 3 "${options[@]}"
}

# Those below 80 % of their bound, of step_breakdown's table; on one line those that have less than 1 % of the step.
slow_operations() {  # FILE
  awk '
    !/% (FLOP|bytes)$/ { next }
    { ++found; of_bound = $(NF - 1) + 0; share = $(NF - 3) + 0 }
    of_bound < 80 {
      if (share < 1) small = small " " $1
      else print "below 80 % of its bound: " $1 " (" of_bound " %, " share " % of the step, " $(NF - 4) " ms)"
    }
    END { if (small) print "below 80 % of their bounds, each less than 1 % of the step:" small; exit !found }' "$1" ||
    { say "table: FAILED: no operation was measured"; return 1; }
}

memory_holds() {  # FILE WHERE
  local planned taken
  planned=$(sed -n 's/^tenax plan: \([0-9]*\) bytes$/\1/p' "$1")
  taken=$(sed -n 's/^memory: \([0-9]*\) bytes taken$/\1/p' "$1")
  echo "$2: tenax plan says ${planned:-?} bytes, a step takes ${taken:-?}"
  holds gpu.memory_percent "$(calculated %.2f '100 * sqrt((a / b - 1) ^ 2)' "$taken" "$planned")" "$2"
}

# Steps with the optimizer's state in host memory, from which all of it is fetched and to which it is written back, beside steps
# with it on the device, in turn.
optimizer_offload() {  # SIZE BATCH
  local is_offloaded round failed=0
  for ((round = 1; round <= rounds; ++round)); do
    for is_offloaded in false true; do
      part "offload-$1-$is_offloaded-$round" offload_part "$1" "$2" $is_offloaded >/dev/null || failed=1
    done
  done
  is_left "offload-$1-" || [ $failed = 1 ] || offload_cost "$1" "$2" || failed=1
  return $failed
}
offload_part() {  # SIZE BATCH OFFLOADED: seconds of a step
  local options rate
  read -ra options <<<"$(gpu_options "$1" "$2") run.log_interval=1 run.train_steps=$(steps_of "$1") device.offload_optimizer=$3"
  rate=$(tenax_rate 1 "$1" "${options[@]}") || return 1
  calculated %.6f a/b "$(tokens_of "$1")" "$rate" | above_zero
}
tokens_of() { echo $((1024 * $(sequences_of "$1"))); }  # of a step
seconds_of_step() {  # SIZE OFFLOADED
  local round
  for ((round = 1; round <= rounds; ++round)); do cat "$parts/offload-$1-$2-$round.done"; done | median
}
offload_cost() {  # SIZE BATCH
  local on_device in_host bytes cost
  on_device=$(seconds_of_step "$1" false) in_host=$(seconds_of_step "$1" true)
  bytes=$(number_in optimizer "$parts/plan-$1.done")
  cost=$(calculated %.2f '(a - b) * 1e12 / c' "$in_host" "$on_device" "$bytes")
  echo "$1, micro-batch $2, $(tokens_of "$1") tokens a step: $on_device s with the optimizer's ${bytes:-?} bytes on the device," \
    "$in_host s with them in host memory"
  holds gpu.offload_ms_per_gb "$cost" "$1, fetched and written back each step"
}

#!/usr/bin/env bash
# The figures of the PipeMorph paper (NSDI 2026) on the emulated device: what an iteration takes with each system, predicted
# by the evaluator beside measured on real ranks, and a picture of each schedule and of what was measured.
#
#   bash tests/bench/pipemorph.sh [--figures "14 15 16 17 18 21 22 1200"] [--steps 8] [--out build/pipemorph] [--check]
#
# Systems, by the paper's names: 1F1B, ZB and PM-CPU (fixed zero-bubble order, direct or delegated), PipeMorph (adaptive, links
# delegated when slow). Measured: median of the last half of the steps. Needs an idle machine of two cores or more.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

figures="14 15 16 17 21 18 1200 22" steps=8 out=$tenax_build/pipemorph
take_options "figures steps out" "" "$@"
decks=$tenax_root/inputs/pipemorph

options_of() {  # SYSTEM: its deck keys
  case $1 in
    1F1B) echo "pipeline.schedule=1f1b pipeline.p2p=direct" ;;
    ZB) echo "pipeline.schedule=zero_bubble pipeline.p2p=direct" ;;
    PM-CPU) echo "pipeline.schedule=zero_bubble pipeline.p2p=delegated" ;;
    PipeMorph) echo "pipeline.schedule=adaptive pipeline.p2p=auto" ;;
  esac
}

field() { sed -n "s/.*\"$1\": *\([0-9.e+-]*\).*/\1/p"; }
# The seconds of every step of the last run, one a line.
step_seconds() { field seconds <"$out/run/metrics.jsonl"; }
divide() { awk "BEGIN { printf \"%.3f\", $1 / $2 }"; }

# measure DECK OPTIONS…: runs it; the median iteration of the last half of its steps in ms.
measure() {
  local deck=$1 ranks
  shift
  ranks=$("$tenax_build/tenax" plan "$deck" --ranks "$@" | head -n 1)
  rm -rf "$out/run"
  mpirun -n "$ranks" "$tenax_build/tenax" "$deck" run.output_dir="$out/run" run.resume=never \
    run.train_steps="$steps" "$@" >"$out/run.log" 2>&1 || { cat "$out/run.log" >&2; die "tenax failed: $deck $*"; }
  step_seconds | tail -n $((steps / 2)) | median | awk '{ printf "%.1f", 1000 * $1 }'
}

percent_above() { awk "BEGIN { printf \"%.2f\", 100 * ($1 / $2 - 1) }"; }
declare -A ms  # measured, by "FIGURE SETTING SYSTEM"

# row FIGURE SETTING SYSTEM DECK OPTIONS…: one line of the table; leaves the measured ms in $last.
row() {
  local figure=$1 setting=$2 system=$3 deck=$4 predicted bound picture
  shift 4
  picture="$out/figure-$figure-${setting//[^A-Za-z0-9]/_}-$system"
  read -r predicted bound < <("$tenax_build/tests/bench/pipemorph_predict" "$deck" --svg "$picture.svg" "$@" $(options_of "$system"))
  last=$(measure "$deck" "$@" $(options_of "$system"))
  printf '%-5s %-28s %-10s %10.1f %10.1f %7s %10.1f\n' "$figure" "$setting" "$system" "$predicted" "$last" \
    "$(divide "$last" "$predicted")" "$bound"
  ms[$figure $setting $system]=$last
  meets pipemorph.off_prediction_percent "$(percent_above "$last" "$predicted" | tr -d -)" "$figure, $setting, $system"
  [[ $system-$figure != PipeMorph-1[467] ]] || meets pipemorph.above_bound_percent "$(percent_above "$last" "$bound")" "$figure, $setting"
  [ -s "$out/run/trace.json" ] && cp "$out/run/trace.json" "$picture.trace.json"
}

systems="1F1B ZB PM-CPU PipeMorph"

figure_14() {
  row 14 "7B, healthy" ZB "$decks/7b.toml" inject.0.delay_ms=0
  for system in $systems; do row 14 "7B, link 2, 30 ms" "$system" "$decks/7b.toml"; done
}

figure_15() {
  local delay system
  for delay in 0 10 20 30 40 50 60; do
    for system in $systems; do row 15 "14B, link 6, $delay ms" "$system" "$decks/14b.toml" inject.0.delay_ms=$delay; done
  done
  meets pipemorph.15.slowdown "$(divide "${ms[15 14B, link 6, 60 ms PipeMorph]}" "${ms[15 14B, link 6, 0 ms PipeMorph]}")"
}

figure_16() {
  local delay system
  for delay in 30 60; do
    for system in $systems; do
      row 16 "7B, first, $delay ms" "$system" "$decks/7b.toml" inject.0.delay_ms=$delay inject.0.stages="[0, 1]"
      row 16 "7B, last, $delay ms" "$system" "$decks/7b.toml" inject.0.delay_ms=$delay
      row 16 "14B, first, $delay ms" "$system" "$decks/14b.toml" inject.0.delay_ms=$delay inject.0.stages="[0, 1]"
      row 16 "14B, last, $delay ms" "$system" "$decks/14b.toml" inject.0.delay_ms=$delay
    done
  done
  meets pipemorph.16.over_direct "$(divide "${ms[16 14B, last, 60 ms ZB]}" "${ms[16 14B, last, 60 ms PipeMorph]}")"
}

figure_17() {
  local setting system
  for setting in adjacent skip ends three; do
    for system in $systems; do row 17 "14B, $setting, 30 ms" "$system" "$decks/14b-$setting.toml"; done
  done
}

# All links over delegates, nothing slow: what the way through the host costs. The copies of a 60B model: 1.2 % of an
# iteration to the host and 4.4 % back (Figure 21, left), for the 48 messages of a stage.
figure_21() {
  row 21 "7B, healthy" ZB "$decks/7b.toml" inject.0.delay_ms=0
  row 21 "7B, healthy" PM-CPU "$decks/7b.toml" inject.0.delay_ms=0
  row 21 "14B, healthy" ZB "$decks/14b.toml" inject.0.delay_ms=0
  row 21 "14B, healthy" PM-CPU "$decks/14b.toml" inject.0.delay_ms=0
  row 21 "14B, copies of a 60B" PM-CPU "$decks/14b.toml" inject.0.delay_ms=0 device.copy_ms=0.9
  local model
  for model in 7B 14B; do
    meets pipemorph.21.over_direct "$(divide "${ms[21 $model, healthy PM-CPU]}" "${ms[21 $model, healthy ZB]}")" "$model"
  done
  meets pipemorph.21.copies "$(divide "${ms[21 14B, copies of a 60B PM-CPU]}" "${ms[21 14B, healthy ZB]}")"
}

# run_whole DECK SYSTEM OPTIONS…: all steps of the deck; leaves their seconds, one a line, in $out/SYSTEM.seconds. (A system
# without delegates cannot outlive a direct path that breaks: it is run up to there.)
run_whole() {
  local deck=$1 system=$2 ranks status=0
  shift 2
  ranks=$("$tenax_build/tenax" plan "$deck" --ranks "$@" | head -n 1)
  rm -rf "$out/run"
  mpirun -n "$ranks" "$tenax_build/tenax" "$deck" run.output_dir="$out/run" run.resume=never run.log_interval=1000000 \
    $(options_of "$system") "$@" >"$out/run.log" 2>&1 || status=$?
  [ $status = 0 ] || say "$deck, $system: $(tail -n 1 "$out/run.log")"
  step_seconds >"$out/$system.seconds"
}

# mean_ms SYSTEM [ITERATIONS]: of the last run_whole; of its first ITERATIONS.
mean_ms() { head -n "${2:--0}" "$out/$1.seconds" | awk '{ sum += $1 } END { printf "%.1f", 1000 * sum / NR }'; }

# gain FIGURE GOAL SYSTEM: PipeMorph's throughput by SYSTEM's.
gain() {
  local ratio
  ratio=$(divide "$(mean_ms "$3")" "$(mean_ms PipeMorph)")
  printf '%-5s %-28s PipeMorph: %s x %s\n' "$1" "" "$ratio" "$3"
  meets "pipemorph.$1.$2" "$ratio"
}

# whole FIGURE SETTING DECK: the systems over a trace, in throughput against the baselines.
whole() {
  local figure=$1 setting=$2 deck=$3 system
  shift 3
  for system in 1F1B ZB PipeMorph; do
    run_whole "$deck" "$system" "$@"
    printf '%-5s %-28s %-10s %10s %10.1f   %d iterations, %d schedules\n' "$figure" "$setting" "$system" "" "$(mean_ms $system)" \
      "$(wc -l <"$out/$system.seconds")" "$(grep -c '"reschedule"' "$out/run/events.jsonl")"
  done
  gain "$figure" over_zb ZB
  gain "$figure" over_1f1b 1F1B
}

figure_18() {
  local trace
  for trace in a b c; do whole 18 "7B, trace $trace" "$decks/7b-trace-$trace.toml"; done
}
# The baselines end when the link breaks: what PipeMorph gains until then is said too.
figure_1200() {
  local system iterations
  whole 1200 "14B, 1200 iterations" "$decks/1200.toml"
  for system in ZB 1F1B; do
    iterations=$(wc -l <"$out/$system.seconds")
    printf '%-5s %-28s PipeMorph: %s x %s over the first %d iterations\n' 1200 "" \
      "$(divide "$(mean_ms $system)" "$(mean_ms PipeMorph "$iterations")")" $system "$iterations"
  done
}
figure_22() { whole 22 "8 stages, an hour / 10" "$decks/hour.toml"; }

build_all() {
  prepare_bench
  configure -DTENAX_TESTS=ON
  build_target pipemorph_predict
}
with_build_lock build_all
export_mpi_environment
mkdir -p "$out"
printf '%-5s %-28s %-10s %10s %10s %7s %10s\n' figure setting system 'predict/ms' 'measure/ms' ratio 'bound/ms'
for figure in $figures; do
  warn_if_busy
  "figure_$figure"
done
end_with_goals

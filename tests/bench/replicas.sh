#!/usr/bin/env bash
# Replicas under tenax launch on the emulated device, with steps of 200 ms: what control costs, how long survivors stand when a
# rank is killed or stopped, and when it comes back; the exchange hidden behind the backward pass; rounds of the membership
# service; the same blow to torchft.
#
#   bash tests/bench/replicas.sh [--replicas "8 12"] [--blows 5] [--steps 60] [--parts "steady hidden blows rounds torchft"] [--check]
#
# torchft runs where TORCHFT_PYTHON names a Python that imports it (pip install torchft); else its row is left out.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

replicas="8 12" blows=5 steps=60 parts="steady hidden blows rounds torchft"
take_options "replicas blows steps parts" "" "$@"
figures=$bench_folder/replicas_figures.py

build() {
  configure -DTENAX_TESTS=ON
  build_target tenax
  build_target messages_bench
}

# steps_of NAME COMMAND…: the median milliseconds of a step of that run.
steps_of() {
  local name=$1
  shift
  rm -rf "$bench_work/$name"
  "$@" "$bench_folder/replicas.toml" run.output_dir="$bench_work/$name" run.train_steps="$steps" "${overrides[@]}" \
    >"$bench_work/$name.log" 2>&1 </dev/null || { cat "$bench_work/$name.log" >&2; die "$name failed"; }
  python3 "$figures" step "$bench_work/$name"
}

# ratio NAME GOAL R [override…]: a step of R replicas by that of one alone, without a supervisor; three rounds in turn.
ratio() {
  local name=$1 n=$2 round one many
  overrides=("${@:3}")
  for round in 1 2 3; do
    one=$(steps_of "$name-1" mpirun -n 1 "$tenax_build/tenax")
    overrides+=(parallel.replicas="$n" batch.global_batch_size=$((8 * n)))
    many=$(steps_of "$name-$n" "$tenax_build/tenax" launch)
    overrides=("${@:3}")
    say "$name, $n replicas: $many ms a step, one alone $one ms"
    awk "BEGIN { print $many / $one }" >>"$bench_work/$name.ratios"
  done
  median <"$bench_work/$name.ratios"
  rm "$bench_work/$name.ratios"
}

do_steady() {
  local n by
  for n in $replicas; do
    by=$(ratio steady "$n" device.gradient_bytes=8 | tee >(cat >&2) | tail -n 1)
    meets replicas.control_percent "$(awk "BEGIN { print 100 * ($by - 1) }")" "$n replicas"
  done
}
# 20 MB of gradients over 25 Gbit/s take a third of the backward pass of weights of the last microbatch.
do_hidden() {
  local by
  by=$(ratio hidden 4 device.gradient_bytes=20000000 device.link_gbps=25 device.forward_ms=32 \
    device.backward_input_ms=32 device.backward_weight_ms=32 batch.micro_batch_size=4 | tee >(cat >&2) | tail -n 1)
  meets replicas.hidden_ratio "$by" "4 replicas"
}
do_blows() {
  local n
  for n in $replicas; do
    rm -rf "$bench_work/blows"
    "$tenax_build/tenax" launch "$bench_folder/replicas.toml" run.output_dir="$bench_work/blows" device.gradient_bytes=8 \
      parallel.replicas="$n" batch.global_batch_size=$((8 * n)) >"$bench_work/blows.log" 2>&1 </dev/null &
    python3 "$figures" blows "$bench_work/blows" $! "$n" "$blows" | tee "$bench_work/blows.figures" ||
      { tail "$bench_work/blows.log" >&2; die "the blows to $n replicas"; }
    wait $!
    "$tenax_build/tenax" audit "$bench_work/blows" || die "the audit"
    while read -r name value rest; do
      [ "$name" = goal ] || continue
      meets "replicas.$value" $rest "$n replicas"
    done <"$bench_work/blows.figures"
  done
}
do_rounds() {
  "$tenax_build/tests/bench/messages_bench" | tee "$bench_work/rounds.log"
  meets replicas.round_16_ms "$(sed -n 's/^threads .*median *\([0-9.]*\) ms.*/\1/p' "$bench_work/rounds.log")"
  meets replicas.round_1000_ms "$(sed -n 's/.* 1000 clients  round: median *\([0-9.]*\) ms.*/\1/p' "$bench_work/rounds.log")"
}
do_torchft() {
  [ -n "${TORCHFT_PYTHON:-}" ] || { say "torchft: TORCHFT_PYTHON is not set"; return; }
  timeout 300 "$TORCHFT_PYTHON" "$bench_folder/torchft_blows.py" --replicas "${replicas%% *}" --blows "$blows" 2>"$bench_work/torchft.log"
}

with_build_lock build
export_mpi_environment
mkdir -p "$bench_work"
warn_if_busy
keep_awake
for part in $parts; do "do_$part"; done
end_with_goals

#!/usr/bin/env bash
# GPT-2 124M scores and generates: `tenax evaluate` beside transformers in bf16, `tenax generate` in bf16 beside an earlier program
# (in fp32 where that has no bf16), in turn. The model has one step of training; what it says is noise.
#
#   bash tests/bench/inference.sh [evaluate] [generate] [--rounds 3] [--windows 8] [--tokens 100] [--before TENAX] [--python PYTHON]
#     [--patience 300] [--check]
#
# PYTHON must import transformers and torch, for `evaluate`. What takes transformers more than `patience` seconds is not waited for:
# it gives a bound. TENAX: of the commit that `generate` is compared with; without one, this
# program in fp32. Medians of the rounds, all cores for `evaluate`, one thread for `generate`.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

rounds=3 windows=8 tokens=100 before= python=python3 patience=300 parts=()
take_options "rounds windows tokens before python patience" "evaluate generate" "$@"
[ ${#parts[@]} -gt 0 ] || parts=(evaluate generate)
folder=$bench_work/inference

make_model() {
  mkdir -p "$folder"
  checkpoint=$folder/run/checkpoints/step-000001.h5
  [ -e "$checkpoint" ] || mpirun -n 2 "$tenax_build/tenax" "$bench_folder/gpt2-124m.toml" run.output_dir="$folder/run" \
    run.train_steps=1 checkpoint.interval=1 >"$folder/train.log" 2>&1 || { cat "$folder/train.log" >&2; die "no model"; }
  head -c $((2 * (1024 * windows + 1))) "$bench_work/random-50257.bin" >"$folder/tokens.bin"
}

evaluate_tenax() {
  "$tenax_build/tenax" evaluate "$checkpoint" --data "$folder/tokens.bin" --dtype bf16 --json |
    sed -nE 's/.*"tokens_per_second": *([0-9.e+]+).*/\1/p'
}
do_evaluate() {
  local round ours=() theirs=() ratio rate
  "$tenax_build/tenax" export "$checkpoint" --out "$folder/model.safetensors" >/dev/null || die "export"
  for ((round = 0; round < rounds; ++round)); do
    ours+=("$(evaluate_tenax)")
    [[ ${rate:-} != *most ]] || continue  # once is enough
    rate=$("$python" -W ignore "$bench_folder/score_transformers.py" "$folder" "$folder/tokens.bin" "$patience") || die "transformers"
    theirs+=("$rate")
  done
  say "evaluate, bf16, tokens/s: tenax ${ours[*]}, transformers ${theirs[*]}"
  ratio=$(awk "BEGIN { print $(printf '%s\n' "${ours[@]}" | median) / $(printf '%s\n' "${theirs[@]% at most}" | median) }")
  meets inference.evaluate "$ratio" "by transformers'"
}

# generated PROGRAM OPTION …: tokens/s. The model has no text's vocabulary: bytes stand for its first 256 tokens.
generated() {
  local program=$1 rate
  shift
  "$program" generate "$checkpoint" --prompt hello --tokenizer bytes --tokens "$tokens" --temperature 0 --threads 1 "$@" \
    2>"$folder/generate.log" >/dev/null
  rate=$(sed -nE 's/.*: ([0-9.]+) tokens\/s.*/\1/p' "$folder/generate.log")
  [ -n "$rate" ] || { cat "$folder/generate.log" >&2; return 1; }
  echo "$rate"
}
do_generate() {
  local round ours=() theirs=() options=()
  [ -n "$before" ] && "$before" generate --help 2>&1 | grep -q -e --dtype && options=(--dtype bf16)
  for ((round = 0; round < rounds; ++round)); do
    ours+=("$(generated "$tenax_build/tenax" --dtype bf16)") && theirs+=("$(generated "${before:-$tenax_build/tenax}" "${options[@]}")") ||
      die "generate fails"
  done
  say "generate, tokens/s: in bf16 ${ours[*]}, ${before:-this program} ${options[*]:-in fp32} ${theirs[*]}"
  meets inference.generate "$(awk "BEGIN { print $(printf '%s\n' "${ours[@]}" | median) / $(printf '%s\n' "${theirs[@]}" | median) }")"
}

with_build_lock prepare_bench
export_mpi_environment
make_model
warn_if_busy
for part in "${parts[@]}"; do "do_$part"; done
end_with_goals

# Tokens/s beside PyTorch. Sourced by gpu.sh.

batches_of() { case $1 in gpt2-124m) echo 128 64 32 ;; gpt2-1.5b) echo 32 16 8 ;; esac; }
sequences_of() { case $1 in gpt2-124m) echo 512 ;; gpt2-1.5b) echo 64 ;; esac; }  # of a step
steps_of() { case $1 in gpt2-1.5b) echo 4 ;; *) echo 6 ;; esac; }
gpu_options() {  # SIZE BATCH
  echo "parallel.tensor_parallel_size=1 model.compute_dtype=bf16 device.kind=cuda batch.global_batch_size=$(sequences_of "$1")" \
    "batch.micro_batch_size=$2"
}
setting_options() { echo "device.deterministic=${1%-*} device.cuda_graph=${1#*-}"; }
setting_text() { echo "deterministic ${1%-*}, graph ${1#*-}"; }

# Prints the largest micro-batch of size $1 that trains. A try that fails must not end this script.
find_batch() {
  local batch
  for batch in $(batches_of "$1"); do
    # shellcheck disable=SC2046  # words
    (tenax_rate 1 "$1" $(gpu_options "$1" "$batch") run.train_steps=2) >/dev/null 2>&1 && { echo "$batch"; return; }
  done
  tail -n 20 "$bench_work/run.log"
  die "no micro-batch of $1 trains (above: the end of the last try)"
}
# knows_size SIZE: its micro-batch in `batch`, and what is planned for it. Fails where that failed; `batch` is empty where it is
# left.
knows_size() {
  batch=
  part "batch-$1" find_batch "$1" >/dev/null || return 1
  is_done "batch-$1" || return 0
  # shellcheck disable=SC2046
  part "plan-$1" planned "$1" $(gpu_options "$1" "$(cat "$parts/batch-$1.done")") >/dev/null || return 1
  ! is_done "plan-$1" || batch=$(cat "$parts/batch-$1.done")
}
planned() {  # SIZE section.key=value …
  "$tenax_build/tenax" plan "$bench_folder/$1.toml" "${@:2}" --json
}
number_in() { sed -n "s/.*\"$1\": *\([0-9.e+]*\).*/\1/p" "$2"; }  # KEY FILE

# One rate and, in a last line, the measured matrix-product rate in TFLOP/s.
tenax_part() {  # SIZE BATCH SETTING
  # shellcheck disable=SC2046
  tenax_rate 1 "$1" $(gpu_options "$1" "$2") run.log_interval=1 run.train_steps="$(steps_of "$1")" $(setting_options "$3") |
    above_zero || return 1
  sed -n 's/.*measured at \([0-9.]*\) \([GTP]\)FLOP.*/\1 \2/p' "$bench_work/run.log" |
    awk '{ print $1 * ($2 == "P" ? 1000 : $2 == "T" ? 1 : 0.001) }' | above_zero
}
# Passes one number on.
above_zero() { awk '{ print; good = $1 > 0 } END { if (NR != 1 || !good) { print "no rate was measured"; exit 1 } }'; }

# One rate, with the micro-batch of tenax, or the next smaller one that fits: that is looked for once, as each try compiles.
pytorch_part() {  # SIZE BATCH
  local batches=$parts/$1.pytorch-batch
  [ -s "$batches" ] || batches_of "$1" | tr ' ' '\n' | awk -v most="$2" '$1 <= most' | paste -sd , >"$batches"
  "$python" -W ignore "$bench_folder/pytorch_gpt.py" --size "$1" --dtype bf16 --device cuda --compile --seconds "$seconds" \
    --sequences "$(sequences_of "$1")" --batch "$(cat "$batches")" >"$bench_work/pytorch.json" || return 1
  number_in batch "$bench_work/pytorch.json" | grep . >"$batches"
  number_in tokens_per_second "$bench_work/pytorch.json" | above_zero
}

do_speed() {
  local size failed=0
  for size in $sizes; do
    speed_of "$size" || failed=1
  done
  return $failed
}
speed_of() {  # SIZE
  local size=$1 round setting batch failed=0
  knows_size "$size" || return 1
  [ -n "$batch" ] || return 0
  for ((round = 1; round <= rounds; ++round)); do
    for setting in $settings; do
      part "speed-$size-$setting-$round" tenax_part "$size" "$batch" "$setting" >/dev/null || failed=1
    done
    part "speed-$size-pytorch-$round" pytorch_part "$size" "$batch" >/dev/null || failed=1
  done
  is_left "speed-$size-" || speed_rows "$size" "$batch" || failed=1
  return $failed
}

has_rounds() {  # SIZE SETTING
  local round
  for ((round = 1; round <= rounds; ++round)); do is_done "speed-$1-$2-$round" || return 1; done
}
rate_of() {  # SIZE SETTING: the median of its rounds; a question mark where one is missing
  local round
  has_rounds "$1" "$2" || { echo '?'; return; }
  for ((round = 1; round <= rounds; ++round)); do head -n 1 "$parts/speed-$1-$2-$round.done"; done | median
}
# calculated FORMAT EXPRESSION NUMBER…: awk's EXPRESSION of a, b and c; a question mark where one is no number.
calculated() {
  local format=$1 expression=$2 number
  shift 2
  for number; do is_number "$number" || { echo '?'; return; }; done
  awk -v a="$1" -v b="${2:-}" -v c="${3:-}" "BEGIN { printf \"$format\\n\", $expression }"
}

# The settings whose rounds are all there. Goals are for the fastest.
speed_rows() {  # SIZE BATCH
  local setting rows=$parts/speed-$1.rows mine ratio mfu failed=0
  for setting in $settings; do ! has_rounds "$1" "$setting" || figures_of "$1" "$setting"; done >"$rows"
  awk -v size="$1" -v batch="$2" '
    function row(setting, mine, other, ratio, mfu, matrix) {
      printf "%-10s %6s %-20s %10s %10s %8s %7s %8s\n", size, batch, setting, mine, other, ratio, mfu, matrix
    }
    BEGIN { print "setting: deterministic-graph; MFU in % of the matrix rate, that in TFLOP/s"
            s = size; b = batch; size = "size"; batch = "batch"
            row("setting", "tenax", "PyTorch", "ratio", "MFU", "matrix"); size = s; batch = b }
    { row($6, $1, $2, $3, $4, $5) }' "$rows"
  read -r mine _ ratio mfu _ setting < <(sort -gr "$rows")
  holds "gpu.$1.ratio" "${ratio:-?}" "${setting:-}" || failed=1
  holds "gpu.$1.tokens_per_s" "${mine:-?}" "${setting:-}" || failed=1
  holds "gpu.$1.mfu_percent" "${mfu:-?}" "${setting:-}" || failed=1
  return $failed
}
figures_of() {  # SIZE SETTING: tokens/s, PyTorch's, their ratio, MFU, the matrix-product rate, the setting
  local mine pytorch flop matrix
  mine=$(rate_of "$1" "$2") pytorch=$(rate_of "$1" pytorch)
  flop=$(number_in flop_per_token "$parts/plan-$1.done")
  matrix=$(tail -n 1 "$parts/speed-$1-$2-$rounds.done")
  echo "$mine $pytorch $(calculated %.4f a/b "$mine" "$pytorch")" \
    "$(calculated %.2f 'a * b / c / 1e10' "$mine" "$flop" "$matrix") $matrix $2"
}

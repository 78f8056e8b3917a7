# The loss of each step, smoothed over 50: bf16 beside fp32, and beside PyTorch's bf16 from the same first weights.
# Sourced by gpu.sh.

do_curve() {
  local name failed=0
  part curve-weights first_weights || return 1
  is_done curve-weights || return 0
  for name in fp32 bf16; do part curve-$name losses_of $name >/dev/null || failed=1; done
  part curve-pytorch losses_of_pytorch >/dev/null || failed=1
  for name in fp32 pytorch; do bf16_beside $name || failed=1; done
  return $failed
}

first_weights() {
  "$python" "$bench_folder/pytorch_curve.py" "$bench_folder/curve.toml" --write-weights "$parts/curve.safetensors"
}
losses_of() {  # COMPUTE_TYPE
  local text run=$bench_work/curve-$1
  text=$(shakespeare) || return 1
  rm -rf "$run"
  mpirun -n 1 "$tenax_build/tenax" "$bench_folder/curve.toml" data.train="$text" run.output_dir="$run" \
    model.init_weights="$parts/curve.safetensors" run.resume=never device.kind=cuda model.compute_dtype="$1" run.log_interval=100 \
    >"$run.log" 2>&1 || { cat "$run.log"; return 1; }
  sed -n 's/.*"loss": *\([^,}]*\).*/\1/p' "$run/metrics.jsonl"
}
losses_of_pytorch() {
  local text
  text=$(shakespeare) || return 1
  "$python" -W ignore "$bench_folder/pytorch_curve.py" "$bench_folder/curve.toml" "$text" --compile \
    --weights "$parts/curve.safetensors" 2>"$bench_work/curve-pytorch.err" || { cat "$bench_work/curve-pytorch.err"; return 1; }
}

bf16_beside() {  # OTHER, where both are done
  local sentence
  is_done curve-bf16 && is_done "curve-$1" || return 0
  sentence=$(paste "$parts/curve-$1.done" "$parts/curve-bf16.done" | smoothed_difference) || {
    say "bf16 beside $1: FAILED: $sentence"
    return 1
  }
  echo "bf16 beside $1 $sentence"
  holds gpu.curve_percent "$(sed -n 's/.*at most \([0-9.]*\) %.*/\1/p' <<<"$sentence")" "bf16 beside $1"
}
smoothed_difference() {
  awk '
    NF != 2 || $0 ~ /[^-+.0-9e \t]/ { bad = NR }
    { x[NR] = $1; y[NR] = $2; sx += $1; sy += $2
      if (NR > 50) { sx -= x[NR - 50]; sy -= y[NR - 50] }
      if (NR >= 50) { d = sy / sx - 1; if (d < 0) d = -d; if (d > worst) worst = d } }
    END { if (bad) print "step " bad " has no losses: " x[bad] " and " y[bad]
          else if (NR < 500) print "500 steps were wanted, not " NR
          else printf "over %d steps: smoothed losses differ by at most %.3f %%, the last are %.4f and %.4f\n", NR,
                      100 * worst, sy / 50, sx / 50
          exit bad || NR < 500 }'
}

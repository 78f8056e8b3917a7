# Is it right: operations, whole runs as ctest has them on the stand-in, activations that leave the device. Sourced by gpu.sh.

do_check() {
  local failed=0 name
  part operations operations || failed=1
  for name in golden repeatable graph adaptive generate; do part "$name" script_on_gpu "$name" || failed=1; done
  part offload offload_on_gpu || failed=1
  return $failed
}

# A script of tests/app, as ctest runs it on the stand-in. What it skips at its end, for want of data say, is no failure.
script_on_gpu() {
  local folder=$bench_work/$1-test status=0
  rm -rf "$folder"
  mkdir -p "$folder" && cd "$folder" || return 1
  TENAX=$tenax_build/tenax TENAX_SOURCE=$tenax_root RUN_CHECK=$tenax_build/tests/app/run_check TENAX_DEVICE=cuda \
    bash "$tenax_root/tests/app/$1_test.sh" >"$folder.out" || status=$?
  cat "$folder.out"
  [ $status = 0 ] || [ $status = 77 ] || return $status
  grep -q '^ok ' "$folder.out" || { echo "$1: nothing was tested"; return 1; }
}

# Four stages on one GPU that says to have half the memory that the activations want: the same losses.
offload_on_gpu() {
  local options=(parallel.pipeline_parallel_size=4 pipeline.activation_limit=8 model.compute_dtype=bf16 device.kind=cuda
    detect.enabled=false checkpoint.interval=-1 run.resume=never) kib name
  kib=$(tight_kib "${options[@]}") || return 1
  for name in roomy tight; do
    [ $name = roomy ] || export TENAX_CUDA_MEMORY_KIB=$kib
    mpirun -n 4 "$tenax_build/tenax" "$tenax_root/tests/golden/golden.toml" "${options[@]}" \
      run.output_dir="$bench_work/offload-$name" >"$bench_work/offload-$name.log" 2>&1 || { cat "$bench_work/offload-$name.log"; return 1; }
  done
  tr -s '\n ' ' ' <"$bench_work/offload-tight.log" | grep -q 'of host memory for activations' ||
    { echo "nothing left a device of $kib KiB"; return 1; }
  "$tenax_build/tests/app/run_check" same "$bench_work/offload-tight/metrics.jsonl" "$bench_work/offload-roomy/metrics.jsonl" &&
    echo "activations beyond the device's memory, the same bits"
}
tight_kib() {
  "$tenax_build/tenax" plan "$tenax_root/tests/golden/golden.toml" "$@" --json | "$python" -c '
import json, sys
stages = [stage["memory_bytes_per_rank"] for stage in json.load(sys.stdin)["stages"]]
print(int(4 * max(s["total"] - s["activations"] / 2 for s in stages) / 1024))'
}

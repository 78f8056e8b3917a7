#!/usr/bin/env bash
# The CUDA back end on a machine with a GPU: is it right, how fast is it beside PyTorch, where does a step's time go.
#
#   bash tests/bench/gpu.sh [build] [check] [nccl] [curve] [speed] [table] [delegates]   (default: all, in this order)
#        [--rounds 3] [--seconds 10] [--sizes "gpt2-124m gpt2-1.5b"] [--python python3] [--check]
#
# build      configures with -DTENAX_CUDA=ON in build/ and builds; a machine without Debian's packages takes Open MPI, HDF5,
#            Kokkos and oneDNN from .bundle/ (or .bundle.tar.xz) in the repository's root (shared/tools/bundle.sh), cuDNN, NCCL
#            and cuBLAS from the Python that is there
# check      operations against plain loops, the golden run in all layouts, repeatability, layouts on one GPU
# nccl       the golden run on two ranks of the one GPU that say to be of two hosts, so that NCCL carries what they say; a
#            NCCL that refuses them all the same fails nothing
# curve      500 steps of bf16 beside fp32: the smoothed losses within 1 %
# speed      tokens/s, medians over the rounds, tenax and PyTorch in turn; share of the measured matrix-product rate
# table      one step by operation, with each one's bound
# delegates  64 MB messages between two ranks on one GPU: rate of the copies, launches that do not block, compute beside it
#
# Expected on an H200, not measured yet: 25 minutes for everything, 10 at most for each word, speed with one size at a time
# (PyTorch compiles, and 19 GB of first weights and moments are made on the host at each start of 1.5B).
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

words=() rounds=3 seconds=10 sizes="gpt2-124m gpt2-1.5b" python=python3
while [ $# -gt 0 ]; do
  case $1 in
    --check) check=1 ;;
    --rounds) rounds=$2; shift ;; --seconds) seconds=$2; shift ;; --sizes) sizes=$2; shift ;; --python) python=$2; shift ;;
    build | check | nccl | curve | speed | table | delegates) words+=("$1") ;;
    *) die "unknown word $1 (the head of $0 lists them)" ;;
  esac
  shift
done
[ ${#words[@]} -gt 0 ] || words=(build check nccl curve speed table delegates)

# The bundle where Debian's packages are missing, and the libraries of Python's wheels where the toolkit lacks them.
use_bundle() {
  [ -e "$tenax_root/.bundle/env.sh" ] || {
    [ -e "$tenax_root/.bundle.tar.xz" ] || return 0
    tar -C "$tenax_root" -xf "$tenax_root/.bundle.tar.xz" 2>/dev/null ||  # where there is no xz, Python has one
      "$python" -W ignore -m tarfile -e "$tenax_root/.bundle.tar.xz" "$tenax_root" || die "cannot unpack .bundle.tar.xz"
  }
  source "$tenax_root/.bundle/env.sh"
}

wheel_folders() {  # the folders of Python's NVIDIA wheels that hold a file named $1
  "$python" -c 'import nvidia; print(*nvidia.__path__, sep="\n")' 2>/dev/null |
    while read -r folder; do find "$folder" -name "$1" -printf '%h\n'; done | sort -u
}

use_wheels() {
  local file
  cuda_options=()
  for file in cudnn.h nccl.h cublasLt.h; do
    CMAKE_INCLUDE_PATH=${CMAKE_INCLUDE_PATH:-}$(wheel_folders $file | sed 's/^/:/' | tr -d '\n')
  done
  for file in 'libcudnn.so*' 'libnccl.so*' 'libcublasLt.so*'; do
    local folders
    folders=$(wheel_folders "$file" | tr '\n' ':')
    CMAKE_LIBRARY_PATH=${CMAKE_LIBRARY_PATH:-}:$folders
    LD_LIBRARY_PATH=$folders${LD_LIBRARY_PATH:-}
  done
  export CMAKE_INCLUDE_PATH CMAKE_LIBRARY_PATH LD_LIBRARY_PATH
}

do_build() {
  command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
  build_target all
  "$tenax_build/tenax" --version
}

do_check() {
  ctest --test-dir "$tenax_build" --output-on-failure --parallel 4 \
    -R '^(golden|repeatable|cuda_.*)$|BackEnds|Cuda|Matmul|Attention|WeightUpdate|AdamW|Lion|LayerNorm|Gelu|Embedding|CrossEntropy|Elementwise|SumOfSquares|BiasGradient|Bf16'
}

# Two ranks that NCCL takes for different hosts' (NCCL_HOSTID), whom it then connects by sockets. Their kernels wait for each
# other in the GPU's time slices: correct, if it is, and slow.
golden_run() {  # NAME RANKS [section.key=value ...]
  local name=$1 ranks=$2
  shift 2
  timeout 150 mpirun -q -n "$ranks" bash -c 'NCCL_HOSTID=tenax-$OMPI_COMM_WORLD_RANK NCCL_DEBUG=WARN exec "$@"' -- "$tenax_build/tenax" \
    "$tenax_root/tests/golden/golden.toml" device.kind=cuda run.resume=never run.output_dir="$bench_work/nccl-$name" \
    checkpoint.interval=-1 "$@" >"$bench_work/nccl-$name.log" 2>&1
}
over_nccl() {  # NAME [section.key=value ...]
  local name=$1 log=$bench_work/nccl-$1.log status=0
  golden_run "$@" || status=$?
  if grep -q 'Duplicate GPU' "$log"; then
    echo "$name: not known: NCCL refuses two ranks on one GPU: $(grep -m 1 'Duplicate GPU' "$log")"
  elif [ $status != 0 ] || grep -q 'no NCCL' "$log"; then
    tail -n 5 "$log" >&2
    echo "$name: FAILED (status $status)"
    return 1
  else
    "$tenax_build/tests/app/run_check" close "$bench_work/nccl-$name/metrics.jsonl" "$bench_work/nccl-alone/metrics.jsonl" 1e-5 &&
      echo "$name: over NCCL, the losses of one rank within 1e-5"
  fi
}
do_nccl() {
  local failed=0
  golden_run alone 1 || die "one rank alone fails: $(tail -n 1 "$bench_work/nccl-alone.log")"
  over_nccl tensor 2 parallel.tensor_parallel_size=2 || failed=1
  over_nccl data 2 parallel.data_parallel_size=2 || failed=1
  over_nccl pipeline-direct 2 parallel.pipeline_parallel_size=2 pipeline.schedule=1f1b pipeline.p2p=direct || failed=1
  over_nccl pipeline-auto 2 parallel.pipeline_parallel_size=2 pipeline.schedule=1f1b || failed=1
  over_nccl pipeline-adaptive 2 parallel.pipeline_parallel_size=2 || failed=1
  return $failed
}

# The loss of each step, smoothed over 50, of both types.
do_curve() {
  local dtype text
  text=$(shakespeare) || exit 1
  for dtype in fp32 bf16; do
    rm -rf "$bench_work/curve-$dtype"
    mpirun -q -n 1 "$tenax_build/tenax" "$bench_folder/curve.toml" data.train="$text" run.output_dir="$bench_work/curve-$dtype" \
      run.resume=never \
      model.compute_dtype=$dtype run.log_interval=100 || die "tenax failed: curve, $dtype"
    sed -n 's/.*"loss": *\([0-9.e+-]*\).*/\1/p' "$bench_work/curve-$dtype/metrics.jsonl" >"$bench_work/curve-$dtype.losses"
  done
  paste "$bench_work/curve-fp32.losses" "$bench_work/curve-bf16.losses" | awk '
    { a[NR] = $1; b[NR] = $2; sa += $1; sb += $2
      if (NR > 50) { sa -= a[NR - 50]; sb -= b[NR - 50] }
      if (NR >= 50) { d = sb / sa - 1; if (d < 0) d = -d; if (d > worst) worst = d } }
    END { printf "bf16 beside fp32 over %d steps: smoothed losses differ by at most %.3f %%\n", NR, 100 * worst }' |
    tee "$bench_work/curve.result"
  meets gpu.curve_percent "$(sed -n 's/.*at most \([0-9.]*\) %.*/\1/p' "$bench_work/curve.result")"
}

batches_of() { case $1 in gpt2-124m) echo 64 32 ;; gpt2-1.5b) echo 40 32 24 16 12 8 ;; esac; }

# Sets `batch` to the largest micro-batch of size $1 that trains. A try that fails must not end this script.
find_batch() {
  local found=$bench_work/$1.batch
  [ -e "$found" ] && { batch=$(cat "$found"); return; }
  for batch in $(batches_of "$1"); do
    (tenax_rate 1 "$1" $(gpu_options "$batch") run.train_steps=3) >/dev/null 2>&1 && { echo "$batch" >"$found"; return; }
  done
  tail -n 5 "$bench_work/run.log" >&2
  die "no micro-batch of $1 trains (above: the end of the last try)"
}
steps_of() { case $1 in gpt2-1.5b) echo 15 ;; *) echo 40 ;; esac; }
gpu_options() {
  echo "parallel.tensor_parallel_size=1 model.compute_dtype=bf16 device.kind=cuda batch.global_batch_size=$1 batch.micro_batch_size=$1"
}

do_speed() {
  local size round tenax pytorch pytorch_batches options rate flop
  printf '%-10s %6s %10s %10s %6s %7s %12s\n' size batch tenax PyTorch ratio MFU 'matrix rate'
  for size in $sizes; do
    find_batch "$size"
    options="$(gpu_options "$batch") run.train_steps=$(steps_of "$size")"
    pytorch_batches=$(batches_of "$size" | tr ' ' ,)
    : >"$bench_work/tenax.rates" >"$bench_work/pytorch.rates"
    for ((round = 1; round <= rounds; ++round)); do
      tenax_rate 1 "$size" $options >>"$bench_work/tenax.rates"
      "$python" -W ignore "$bench_folder/pytorch_gpt.py" --size "$size" --dtype bf16 --device cuda --seconds "$seconds" \
        --batch "$pytorch_batches" >"$bench_work/pytorch.json"
      cat "$bench_work/pytorch.json" >&2
      sed -n 's/.*"tokens_per_second": *\([0-9.e+]*\).*/\1/p' "$bench_work/pytorch.json" >>"$bench_work/pytorch.rates"
      # The largest that fits is looked for once: each try compiles.
      pytorch_batches=$(sed -n 's/.*"batch": *\([0-9]*\).*/\1/p' "$bench_work/pytorch.json" | grep . || echo "$pytorch_batches")
    done
    tenax=$(median <"$bench_work/tenax.rates") pytorch=$(median <"$bench_work/pytorch.rates")
    rate=$(sed -n 's/.*measured at \([0-9.]*\) \([GTP]\)FLOP.*/\1 \2/p' "$bench_work/run.log" |
      awk '{ print $1 * ($2 == "P" ? 1000 : $2 == "T" ? 1 : 0.001) }')
    flop=$("$tenax_build/tenax" plan "$bench_folder/$size.toml" $options --json | sed -n 's/.*"flop_per_token": *\([0-9.e+]*\).*/\1/p')
    printf '%-10s %6s %10.0f %10.0f %6.2f %6.1f%% %7.0f TFLOP/s\n' "$size" "$batch" "$tenax" "$pytorch" \
      "$(awk "BEGIN { print $tenax / $pytorch }")" "$(awk "BEGIN { print 100 * $tenax * $flop / $rate / 1e12 }")" "$rate"
    meets "gpu.$size.ratio" "$(awk "BEGIN { print $tenax / $pytorch }")"
    meets "gpu.$size.tokens_per_s" "$tenax"
  done
}

do_table() {
  local size
  for size in $sizes; do
    find_batch "$size"
    echo "$size, micro-batch $batch"
    mpirun -q -n 1 "$tenax_build/tests/bench/step_breakdown" "$bench_folder/$size.toml" --steps 5 $(gpu_options "$batch")
  done
}

do_delegates() { mpirun -q -n 2 "$tenax_build/tests/bench/delegated_bench"; }

command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
use_bundle
use_wheels
export_mpi_environment
with_build_lock prepare_bench -DTENAX_TESTS=ON -DTENAX_CUDA=ON
rm -f "$bench_work"/*.batch
failed=()
for word in "${words[@]}"; do  # in a shell of its own: what fails does not keep the others from being measured
  echo "== $word"
  ("do_$word" && end_with_goals) && continue
  failed+=("$word")
  [ "$word" != build ] || break
done
[ ${#failed[@]} = 0 ] || die "failed: ${failed[*]}"

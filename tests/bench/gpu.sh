#!/usr/bin/env bash
# The CUDA back end on a machine with a GPU: is it right, how fast is it beside PyTorch, where does a step's time go.
#
#   bash tests/bench/gpu.sh [pack] [build] [check] [sanitize] [nccl] [curve] [speed] [table] [delegates]   (default: all, in this order)
#        [--minutes 9] [--rounds 3] [--seconds 10] [--sizes "gpt2-124m gpt2-1.5b"] [--settings "true-false …"] [--python python3]
#        [--no-check] [--built]
#
# build      configures with -DTENAX_CUDA=ON in build/ and builds; a machine without Debian's packages takes Open MPI, HDF5,
#            Kokkos and oneDNN from .bundle/ (or .bundle.tar.xz) in the repository's root (shared/tools/bundle.sh), cuDNN, NCCL
#            and cuBLAS from the Python that is there
# check      operations against plain loops, the golden run in all layouts, repeatability, layouts on one GPU; graph, adaptive,
#            generate, and activations that leave the device, as on the stand-in
# sanitize   own kernels' tests under compute-sanitizer: memcheck, racecheck, initcheck and synccheck
# nccl       the golden run on two ranks of the one GPU that say to be of two hosts, so that NCCL carries what they say; a
#            NCCL that refuses them all the same fails nothing
# curve      500 steps of bf16 beside fp32, and beside PyTorch from the same weights: the smoothed losses within 0.5 %
# speed      tokens/s, medians over the rounds, tenax with and without device.deterministic and device.cuda_graph (--settings:
#            DETERMINISTIC-GRAPH), and PyTorch, in turn; share of the measured matrix-product rate. A step is of 0.5 M tokens
#            (124M) or of 65 536 (1.5B), in the largest micro-batch that fits, the same for both
# table      one step by operation, with each one's bound, and the memory that was taken beside what was planned
# delegates  64 MB messages between two ranks on one GPU: rate of the copies, launches that do not block, compute beside it
#
# Each word is made of parts. A call ends after --minutes: what would take it beyond is left, the status is then 75, and the same
# command goes on from there. What failed is done again. Parts are remembered in build/bench/gpu-*, one folder for each program.
# A missed goal fails its word (--no-check: is said).
#
# For a machine whose time is short: `gpu.sh pack`, here, after `tests/run.sh`, puts the programs into .gpu/programs.tar.xz (22 MB),
# which is carried with .bundle.tar.xz and .data/tinyshakespeare.txt; `gpu.sh --built WORDS`, there, unpacks and builds nothing.
# Seen on an H200 lease of 7 minutes: rounds of speed of 124M 30 s and of 1.5B 60 s (the first compile 65 and 80 s), sanitizers of
# one type 75 s beside these, a golden run 2 s.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

words=() rounds=3 seconds=10 sizes="gpt2-124m gpt2-1.5b" python=python3 minutes=9 is_built=0 is_packed=0
settings="true-false true-true false-false false-true"  # DETERMINISTIC-GRAPH, the default first
check=1
kernel_tests=(kernels_operations_test cuda_attention_test attention_decode_test cuda_device_test)
while [ $# -gt 0 ]; do
  case $1 in
    --check) check=1 ;;
    --no-check) check=0 ;;
    --built) is_built=1 ;;
    --settings) settings=$2; shift ;;
    --minutes) minutes=$2; shift ;;
    --rounds) rounds=$2; shift ;; --seconds) seconds=$2; shift ;; --sizes) sizes=$2; shift ;; --python) python=$2; shift ;;
    pack) is_packed=1 ;;
    build | check | sanitize | nccl | curve | speed | table | delegates) words+=("$1") ;;
    *) die "unknown word $1 (the head of $0 lists them)" ;;
  esac
  shift
done
[ ${#words[@]} -gt 0 ] || words=(build check sanitize nccl curve speed table delegates)
end_s=$((SECONDS + 60 * minutes))

# part NAME SECONDS COMMAND…: runs it unless it was done before, or would end too late by its SECONDS; prints what it printed.
# Status 0 too where it is left for the next call, which $parts/left then says.
part() {
  local name=$1 needs_s=$2
  shift 2
  [ ! -e "$parts/$name.done" ] || { cat "$parts/$name.done"; return 0; }
  if [ $((SECONDS + needs_s)) -gt $end_s ]; then
    echo "$name: left for the next call"
    echo "$name" >>"$parts/left"
    return 0
  fi
  if "$@" >"$parts/$name.out" 2>&1; then
    mv "$parts/$name.out" "$parts/$name.done"
    cat "$parts/$name.done"
  else
    tail -n 40 "$parts/$name.out"
    echo "$name: FAILED"
    return 1
  fi
}
is_done() { [ -e "$parts/$1.done" ]; }

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

# The programs that the words need, without their symbols.
pack() {
  local program folder
  folder=$(mktemp -d) && mkdir -p "$tenax_root/.gpu" || die "no room for programs"
  for program in tenax tests/app/run_check tests/bench/{step_breakdown,delegated_bench,cuda_matmul_bench,cuda_attention_bench} \
    ${kernel_tests[@]/#/tests/kernels/}; do
    mkdir -p "$folder/$(dirname "$program")" && strip -o "$folder/$program" "$tenax_build/$program" || die "$program is not built: tests/run.sh"
  done
  tar -C "$folder" -cf - . | xz -T0 -4 >"$tenax_root/.gpu/programs.tar.xz" || die "cannot pack"
  rm -rf "$folder"
  ls -l "$tenax_root/.gpu/programs.tar.xz"
}
unpack() {
  [ ! -e "$tenax_root/.gpu/programs.tar.xz" ] || [ -e "$tenax_build/tenax" ] || {
    mkdir -p "$tenax_build"
    "$python" -W ignore -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' \
      "$tenax_root/.gpu/programs.tar.xz" "$tenax_build" || die "cannot unpack .gpu/programs.tar.xz"
  }
  make_random_tokens
}

do_build() {
  command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
  build_target all
  "$tenax_build/tenax" --version
}

do_check() {
  local failed=0 name
  part operations 100 operations || failed=1
  for name in golden repeatable graph adaptive generate; do part "$name" 200 script_on_gpu "$name" || failed=1; done
  part offload 90 offload_on_gpu || failed=1
  return $failed
}

# Each test program at once, and its tests one after the other: a context takes a GPU half a second, and many that take turns
# slow each other down.
operations() {
  local program failed=0
  for program in "${kernel_tests[@]}"; do
    timeout 200 "$tenax_build/tests/kernels/$program" --gtest_brief=1 --gtest_filter='*cuda*:*Cuda*:AsynchronousDevice.*:CapturingDevice.*' \
      >"$bench_work/$program.out" 2>&1 &
  done
  for program in "${kernel_tests[@]}"; do wait -n || failed=1; done
  for program in "${kernel_tests[@]}"; do grep -vh '^Running main' "$bench_work/$program.out"; done
  return $failed
}

# A script of tests/app, as ctest runs it on the stand-in. What it skips, for want of data say, is no failure.
script_on_gpu() {
  local folder=$bench_work/$1-test status=0
  rm -rf "$folder"
  mkdir -p "$folder" && cd "$folder" || return 1
  TENAX=$tenax_build/tenax TENAX_SOURCE=$tenax_root RUN_CHECK=$tenax_build/tests/app/run_check TENAX_DEVICE=cuda \
    timeout 300 bash "$tenax_root/tests/app/$1_test.sh" || status=$?
  [ $status = 77 ] || return $status
}

# Four stages on one GPU that says to have half the memory that the activations want: the same losses.
offload_on_gpu() {
  local options="parallel.pipeline_parallel_size=4 pipeline.activation_limit=8 model.compute_dtype=bf16 device.kind=cuda"
  options+=" detect.enabled=false checkpoint.interval=-1 run.resume=never" kib name
  kib=$("$tenax_build/tenax" plan "$tenax_root/tests/golden/golden.toml" $options --json | "$python" -c '
import json, sys
stages = [stage["memory_bytes_per_rank"] for stage in json.load(sys.stdin)["stages"]]
print(int(4 * max(s["total"] - s["activations"] / 2 for s in stages) / 1024))') || return 1
  for name in roomy tight; do
    [ $name = roomy ] || export TENAX_CUDA_MEMORY_KIB=$kib
    timeout 150 mpirun -n 4 "$tenax_build/tenax" "$tenax_root/tests/golden/golden.toml" $options \
      run.output_dir="$bench_work/offload-$name" >"$bench_work/offload-$name.log" 2>&1 || { cat "$bench_work/offload-$name.log"; return 1; }
  done
  tr -s '\n ' ' ' <"$bench_work/offload-tight.log" | grep -q 'of host memory for activations' ||
    { echo "nothing left a device of $kib KiB"; return 1; }
  "$tenax_build/tests/app/run_check" same "$bench_work/offload-tight/metrics.jsonl" "$bench_work/offload-roomy/metrics.jsonl" &&
    echo "activations beyond the device's memory, the same bits"
}

# Our own kernels: what the libraries' do is theirs. Not the tests of many or large tensors: every access is recorded.
own_kernels='*/cuda_bf16:*/cuda_fp32:-*Linear*:*many_stretches*:*repeats*'
do_sanitize() {
  local tool failed=0
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null) ||
    { echo "there is no compute-sanitizer here"; return 1; }
  for tool in memcheck synccheck racecheck initcheck; do part "$tool" 150 under_sanitizer $tool || failed=1; done
  return $failed
}
under_sanitizer() {  # TOOL
  local program failed=0
  for program in kernels_operations_test attention_decode_test; do
    timeout 300 "$sanitizer" --tool "$1" --error-exitcode 9 "$tenax_build/tests/kernels/$program" --gtest_brief=1 \
      --gtest_filter="$own_kernels" || failed=1
  done
  return $failed
}

# Two ranks that NCCL takes for different hosts' (NCCL_HOSTID), whom it then connects by sockets. Their kernels wait for each
# other in the GPU's time slices: correct, if it is, and slow.
golden_run() {  # NAME RANKS [section.key=value ...]
  local name=$1 ranks=$2
  shift 2
  timeout 150 mpirun -n "$ranks" bash -c 'NCCL_HOSTID=tenax-$OMPI_COMM_WORLD_RANK NCCL_DEBUG=WARN exec "$@"' -- "$tenax_build/tenax" \
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
do_nccl() { part nccl 300 nccl_runs; }
nccl_runs() {
  local failed=0
  golden_run alone 1 || die "one rank alone fails: $(tail -n 1 "$bench_work/nccl-alone.log")"
  over_nccl tensor 2 parallel.tensor_parallel_size=2 || failed=1
  over_nccl data 2 parallel.data_parallel_size=2 || failed=1
  over_nccl pipeline-direct 2 parallel.pipeline_parallel_size=2 pipeline.schedule=1f1b pipeline.p2p=direct || failed=1
  over_nccl pipeline-auto 2 parallel.pipeline_parallel_size=2 pipeline.schedule=1f1b || failed=1
  over_nccl pipeline-adaptive 2 parallel.pipeline_parallel_size=2 || failed=1
  return $failed
}

# The loss of each step, smoothed over 50: bf16 beside fp32, and beside PyTorch's bf16 from the same first weights.
do_curve() {
  part curve 240 curve_losses || return 1
  is_done curve || return 0
  local percent
  for percent in $(sed -n 's/.*at most \([0-9.]*\) %.*/\1/p' "$parts/curve.done"); do meets gpu.curve_percent "$percent"; done
}
curve_losses() {
  local dtype text weights=$bench_work/curve.safetensors
  text=$(shakespeare) || exit 1
  "$python" "$bench_folder/pytorch_curve.py" "$bench_folder/curve.toml" --write-weights "$weights" || die "no weights: curve"
  for dtype in fp32 bf16; do
    rm -rf "$bench_work/curve-$dtype"
    mpirun -n 1 "$tenax_build/tenax" "$bench_folder/curve.toml" data.train="$text" run.output_dir="$bench_work/curve-$dtype" \
      model.init_weights="$weights" run.resume=never device.kind=cuda \
      model.compute_dtype=$dtype run.log_interval=100 >"$bench_work/curve-$dtype.log" 2>&1 || { cat "$bench_work/curve-$dtype.log"; exit 1; }
    sed -n 's/.*"loss": *\([0-9.e+-]*\).*/\1/p' "$bench_work/curve-$dtype/metrics.jsonl" >"$bench_work/curve-$dtype.losses"
  done
  "$python" -W ignore "$bench_folder/pytorch_curve.py" "$bench_folder/curve.toml" "$text" --weights "$weights" --compile \
    >"$bench_work/curve-pytorch.losses" || die "PyTorch failed: curve"
  beside bf16 fp32
  beside bf16 pytorch
}
beside() {  # NAME OTHER
  paste "$bench_work/curve-$2.losses" "$bench_work/curve-$1.losses" | awk -v a="$1" -v b="$2" '
    { x[NR] = $1; y[NR] = $2; sx += $1; sy += $2
      if (NR > 50) { sx -= x[NR - 50]; sy -= y[NR - 50] }
      if (NR >= 50) { d = sy / sx - 1; if (d < 0) d = -d; if (d > worst) worst = d } }
    END { printf "%s beside %s over %d steps: smoothed losses differ by at most %.3f %%, the last are %.4f and %.4f\n", a, b, NR,
                 100 * worst, sy / 50, sx / 50; exit NR < 500 }'
}

batches_of() { case $1 in gpt2-124m) echo 128 64 32 ;; gpt2-1.5b) echo 32 16 8 ;; esac; }
sequences_of() { case $1 in gpt2-124m) echo 512 ;; gpt2-1.5b) echo 64 ;; esac; }  # of a step

# Prints the largest micro-batch of size $1 that trains. A try that fails must not end this script.
find_batch() {
  local batch
  for batch in $(batches_of "$1"); do
    (tenax_rate 1 "$1" $(gpu_options "$1" "$batch") run.train_steps=2) >/dev/null 2>&1 && { echo "$batch"; return; }
  done
  tail -n 5 "$bench_work/run.log" >&2
  die "no micro-batch of $1 trains (above: the end of the last try)"
}
steps_of() { case $1 in gpt2-1.5b) echo 4 ;; *) echo 6 ;; esac; }
start_s() { case $1 in gpt2-1.5b) echo 50 ;; *) echo 25 ;; esac; }
gpu_options() {  # SIZE BATCH
  echo "parallel.tensor_parallel_size=1 model.compute_dtype=bf16 device.kind=cuda batch.global_batch_size=$(sequences_of "$1")" \
    "batch.micro_batch_size=$2"
}

setting_options() { echo "device.deterministic=${1%-*} device.cuda_graph=${1#*-}"; }
setting_text() { echo "deterministic ${1%-*}, graph ${1#*-}"; }

# One rate and, in a last line, the measured matrix-product rate in TFLOP/s.
tenax_part() {  # SIZE BATCH SETTING
  tenax_rate 1 "$1" $(gpu_options "$1" "$2") run.log_interval=1 run.train_steps=$(steps_of "$1") $(setting_options "$3") || return 1
  sed -n 's/.*measured at \([0-9.]*\) \([GTP]\)FLOP.*/\1 \2/p' "$bench_work/run.log" |
    awk '{ print $1 * ($2 == "P" ? 1000 : $2 == "T" ? 1 : 0.001) }'
}
# One rate, with the micro-batch of tenax, or the next smaller one that fits: that is looked for once, as each try compiles.
pytorch_part() {  # SIZE BATCH
  local batches=$bench_work/$1.pytorch-batch
  [ -s "$batches" ] || batches_of "$1" | tr ' ' '\n' | awk -v most="$2" '$1 <= most' | paste -sd , >"$batches"
  "$python" -W ignore "$bench_folder/pytorch_gpt.py" --size "$1" --dtype bf16 --device cuda --compile --seconds "$seconds" \
    --sequences "$(sequences_of "$1")" --batch "$(cat "$batches")" >"$bench_work/pytorch.json" || return 1
  sed -n 's/.*"batch": *\([0-9]*\).*/\1/p' "$bench_work/pytorch.json" | grep . >"$batches"
  sed -n 's/.*"tokens_per_second": *\([0-9.e+]*\).*/\1/p' "$bench_work/pytorch.json"
}

do_speed() {
  local size round setting batch failed=0
  for size in $sizes; do
    part "batch-$size" 150 find_batch "$size" >/dev/null || return 1
    is_done "batch-$size" || continue
    batch=$(cat "$parts/batch-$size.done")
    for ((round = 1; round <= rounds; ++round)); do
      for setting in $settings; do
        part "speed-$size-$setting-$round" "$(start_s "$size")" tenax_part "$size" "$batch" "$setting" >/dev/null || failed=1
      done
      part "speed-$size-pytorch-$round" $((2 * $(start_s "$size"))) pytorch_part "$size" "$batch" >/dev/null || failed=1
    done
    [ $failed = 1 ] || speed_row "$size" "$batch"
  done
  return $failed
}

rates_of() { local round; for ((round = 1; round <= rounds; ++round)); do head -n 1 "$parts/speed-$1-$2-$round.done"; done; }

# Where all rounds are done. Goals are for the fastest setting.
speed_row() {  # SIZE BATCH
  local size=$1 batch=$2 setting pytorch rate flop mine best=0 fastest=
  for setting in $settings pytorch; do is_done "speed-$size-$setting-$rounds" || return 0; done
  pytorch=$(rates_of "$size" pytorch | median)
  flop=$("$tenax_build/tenax" plan "$bench_folder/$size.toml" $(gpu_options "$size" "$batch") --json | sed -n 's/.*"flop_per_token": *\([0-9.e+]*\).*/\1/p')
  printf '%-10s %6s %-32s %10s %10s %6s %7s %12s\n' size batch setting tenax PyTorch ratio MFU 'matrix rate'
  for setting in $settings; do
    mine=$(rates_of "$size" "$setting" | median)
    rate=$(tail -n 1 "$parts/speed-$size-$setting-$rounds.done")
    printf '%-10s %6s %-32s %10.0f %10.0f %6.2f %6.1f%% %7.0f TFLOP/s\n' "$size" "$batch" "$(setting_text "$setting")" "$mine" \
      "$pytorch" "$(awk "BEGIN { print $mine / $pytorch }")" "$(awk "BEGIN { print 100 * $mine * $flop / $rate / 1e12 }")" "$rate"
    if awk "BEGIN { exit !($mine > $best) }"; then best=$mine fastest=$setting; fi
  done
  rate=$(tail -n 1 "$parts/speed-$size-$fastest-$rounds.done")
  meets "gpu.$size.ratio" "$(awk "BEGIN { print $best / $pytorch }")" "$(setting_text "$fastest")"
  meets "gpu.$size.tokens_per_s" "$best" "$(setting_text "$fastest")"
  meets "gpu.$size.mfu_percent" "$(awk "BEGIN { print 100 * $best * $flop / $rate / 1e12 }")" "$(setting_text "$fastest")"
}

do_table() {
  local size batch failed=0
  for size in $sizes; do
    part "batch-$size" 150 find_batch "$size" >/dev/null || return 1
    is_done "batch-$size" || continue
    batch=$(cat "$parts/batch-$size.done")
    echo "$size, micro-batch $batch"
    part "table-$size" "$(start_s "$size")" mpirun -n 1 "$tenax_build/tests/bench/step_breakdown" "$bench_folder/$size.toml" \
      --steps 3 $(gpu_options "$size" "$batch") batch.global_batch_size="$batch" || failed=1
    ! is_done "table-$size" ||
      meets gpu.memory_percent "$(sed -n 's/^memory: .*(\([+-][0-9.]*\) %.*/\1/p' "$parts/table-$size.done" | tr -d '+-')" "$size"
  done
  return $failed
}

do_delegates() {
  part delegates 120 mpirun -n 2 "$tenax_build/tests/bench/delegated_bench" || return 1
  is_done delegates || return 0
  local share slower
  for share in $(sed -n 's/.*each way, \([0-9]*\) % of.*/\1/p' "$parts/delegates.done"); do meets gpu.delegates_percent "$share"; done
  for slower in $(sed -n 's/.*ms: \([0-9.-]*\) % slower.*/\1/p' "$parts/delegates.done"); do meets gpu.beside_delegates_percent "$slower"; done
}

[ $is_packed = 0 ] || { pack; exit; }
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
use_bundle
use_wheels
export_mpi_environment
if [ $is_built = 1 ]; then unpack; else with_build_lock prepare_bench -DTENAX_TESTS=ON -DTENAX_CUDA=ON; fi
parts=$bench_work/gpu-$(cksum <"$tenax_build/tenax" | cut -d ' ' -f 1)
mkdir -p "$parts"
rm -f "$parts/left"
failed=()
for word in "${words[@]}"; do  # in a shell of its own: what fails does not keep the others from being measured
  echo "== $word"
  ("do_$word" && end_with_goals) && continue
  failed+=("$word")
  [ "$word" != build ] || break
done
[ ${#failed[@]} = 0 ] || die "failed: ${failed[*]}"
[ ! -e "$parts/left" ] || { say "left: $(tr '\n' ' ' <"$parts/left"); the same command goes on from here"; exit 75; }

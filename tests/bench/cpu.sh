#!/usr/bin/env bash
# Training speed and memory of tenax and of PyTorch on this machine's cores, measured in turn; same model, batch and step.
#
#   bash tests/bench/cpu.sh [--rounds 5] [--sizes "tiny small gpt2-124m"] [--dtypes "fp32 bf16"] [--python PYTHON] [--seconds 15] [--patience 300] [--check]
#
# A way of PyTorch's that does not end within --patience seconds is left out: in bf16 it may take minutes a step on processors that
# have no instructions for it. Where none ends, tenax alone is measured.
#
# PYTHON must import torch (default: /usr/bin/python3 with Debian's python3-torch and libopenblas0-openmp). PyTorch runs with
# two threads and the settings that make it fastest (see `best_pytorch`), eager or compiled, with fused or naive attention, whichever a
# first round finds to be fastest; so does tenax on two cores in the fastest of the layouts below. An idle machine is needed; the
# figures are medians over the rounds of median steps.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

rounds=5 sizes="tiny small gpt2-124m" dtypes="fp32 bf16" python=/usr/bin/python3 seconds=15 patience=300
take_options "rounds sizes dtypes python seconds patience" "" "$@"

data2="parallel.data_parallel_size=2 parallel.tensor_parallel_size=1"
tensor2="parallel.data_parallel_size=1 parallel.tensor_parallel_size=2"
threads2="parallel.data_parallel_size=1 parallel.tensor_parallel_size=1 device.threads=2"
# RANKS override …, a line each.
layouts_of() {
  case $1 in
    tiny) printf '%s\n' "2 $data2 batch.micro_batch_size=4" "2 $data2 batch.micro_batch_size=2" "1 $threads2 batch.micro_batch_size=8" ;;
    small) printf '%s\n' "2 $data2 batch.micro_batch_size=2" "2 $data2 batch.micro_batch_size=1" "2 $tensor2 batch.micro_batch_size=4" \
      "1 $threads2 batch.micro_batch_size=4" ;;
    gpt2-124m) printf '%s\n' "2 $tensor2" "1 $threads2" ;;
  esac
}

# This processor's BLAS and ATen kernels, one pool of threads for both (with Debian's pthread OpenBLAS, PyTorch's own
# threads and OpenBLAS' fight for the cores: half the speed), no page returned to the system between steps, huge pages.
instructions=(OPENBLAS_CORETYPE=Haswell)
! grep -qw avx512f /proc/cpuinfo || instructions=(OPENBLAS_CORETYPE=SkylakeX ATEN_CPU_CAPABILITY=avx512)
best_pytorch() {
  env LD_LIBRARY_PATH="/usr/lib/$(uname -m)-linux-gnu/openblas-openmp:${LD_LIBRARY_PATH:-}" "${instructions[@]}" MALLOC_MMAP_MAX_=0 \
    MALLOC_TRIM_THRESHOLD_=68719476736 MALLOC_TOP_PAD_=268435456 GLIBC_TUNABLES=glibc.malloc.hugetlb=1 \
    OMP_NUM_THREADS=2 timeout -k 5 "$patience" "$python" -W ignore "$bench_folder/pytorch_gpt.py" --threads 2 "$@"
}

field() { sed -n "s/.*\"$1\": *\([0-9.e+]*\).*/\1/p"; }
pytorch_rate() { best_pytorch --size "$1" --dtype "$2" $way --seconds "$seconds" | field tokens_per_second; }

pytorch_memory() {
  best_pytorch --size "$1" --dtype "$2" $way --seconds 5 >/dev/null &
  pss_peak_mib $!
  wait
}

tenax_memory() {
  rm -rf "$bench_work/run"
  $(tenax_command "$@") >/dev/null 2>&1 &
  pss_peak_mib $!
  wait
}

# Sets `ranks` and `layout` to the fastest of the layouts of size $1 in type $2.
find_layout() {
  local candidate_ranks candidate rate best=0
  while read -r candidate_ranks candidate; do
    rate=$(tenax_rate "$candidate_ranks" "$1" model.compute_dtype="$2" $candidate)
    if awk "BEGIN { exit !($rate > $best) }"; then best=$rate ranks=$candidate_ranks layout=$candidate; fi
  done < <(layouts_of "$1")
}

# Sets `way` to the fastest of PyTorch's for size $1 in type $2; empty: none ended. What this PyTorch cannot do has no rate.
find_way() {
  local candidate rate best=0 found=
  for candidate in "--attention fused" "--attention naive" "--attention fused --compile" "--attention naive --compile"; do
    way=$candidate
    rate=$(pytorch_rate "$1" "$2" 2>"$bench_work/pytorch.log")
    if awk "BEGIN { exit !(${rate:-0} > $best) }"; then best=$rate found=$candidate; fi
  done
  [ -n "$found" ] || cat "$bench_work/pytorch.log" >&2
  way=$found
}

measure() {  # SIZE DTYPE
  local size=$1 dtype=$2 round ranks layout tenax pytorch= peak flop ratio= tenax_mib pytorch_mib=
  find_layout "$size" "$dtype"
  find_way "$size" "$dtype"
  local options="model.compute_dtype=$dtype $layout"
  : >"$bench_work/tenax.rates" >"$bench_work/pytorch.rates"
  for ((round = 1; round <= rounds; ++round)); do
    warn_if_busy
    tenax_rate "$ranks" "$size" $options >>"$bench_work/tenax.rates"
    [ -z "$way" ] || pytorch_rate "$size" "$dtype" >>"$bench_work/pytorch.rates"
  done
  tenax=$(median <"$bench_work/tenax.rates")
  peak=$(sed -n 's/.*measured at \([0-9.]*\) \([GT]\)FLOP.*/\1 \2/p' "$bench_work/run.log" |
    awk '{ print $1 * ($2 == "T" ? 1000 : 1) }')
  flop=$("$tenax_build/tenax" plan "$bench_folder/$size.toml" $options --json | field flop_per_token)
  tenax_mib=$(tenax_memory "$ranks" "$size" $options)
  if [ -n "$way" ]; then
    pytorch=$(median <"$bench_work/pytorch.rates") pytorch_mib=$(pytorch_memory "$size" "$dtype")
    ratio=$(awk "BEGIN { printf \"%.2f\", $tenax / $pytorch }")
  fi
  printf '%-10s %-5s %9.0f %9.0f %6s %9.0f %6.0f%% %9s %9s   %s\n' "$size" "$dtype" "$tenax" "${pytorch:-nan}" "${ratio:--}" "$peak" \
    "$(awk "BEGIN { print 100 * $tenax * $flop / $peak / 1e9 }")" "$tenax_mib" "${pytorch_mib:--}" \
    "$ranks x $layout; PyTorch ${way:-does not end in $patience s}"
  [ -n "$way" ] || return 0
  meets "cpu.$size.$dtype" "$ratio"
  meets cpu.memory "$(awk "BEGIN { print $tenax_mib / $pytorch_mib }")" "$size, $dtype"
}

with_build_lock prepare_bench
export_mpi_environment
"$python" -c 'import torch; print("PyTorch", torch.__version__)' || die "no PyTorch in $python (Debian: python3-torch libopenblas0-openmp)"
grep -m1 'model name' /proc/cpuinfo
echo "tokens/s, medians of $rounds rounds; peak memory in MiB (proportional set size, all processes)"
printf '%-10s %-5s %9s %9s %6s %9s %7s %9s %9s   %s\n' size type tenax PyTorch ratio GFLOP/s 'of peak' tenax-MiB torch-MiB 'layout; way'
for size in $sizes; do
  for dtype in $dtypes; do measure "$size" "$dtype"; done
done
end_with_goals

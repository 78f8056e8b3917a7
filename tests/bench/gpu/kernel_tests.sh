# The tests of kernels, alone and under compute-sanitizer. Sourced by gpu.sh.

# kernel_test PROGRAM FILTER [PREFIX …]: fails too where no test ran or one was skipped, as without a GPU that is usable.
kernel_test() {
  local program=$1 filter=$2 file status
  shift 2
  file=$bench_work/$program.out
  "$@" "$tenax_build/tests/kernels/$program" --gtest_brief=1 --gtest_filter="$filter" 2>&1 | tee "$file"
  status=${PIPESTATUS[0]}
  [ "$status" = 0 ] || { echo "$program: status $status"; return 1; }
  grep -q '^\[  PASSED  \] [1-9]' "$file" || { echo "$program: no test ran"; return 1; }
  ! grep -q '^tests skip \|^\[  SKIPPED \]' "$file" || { echo "$program: tests were skipped"; return 1; }
}

# On a machine with a GPU, and a build for it: not the tests of others.
gpu_tests='*cuda*:*Cuda*:AsynchronousDevice.*:CapturingDevice.*'
gpu_tests+='-CudaDevice.of_a_build_without_cuda*:CudaDevice.that_is_not_there*'

# Each test program at once, and its tests one after the other: a context takes a GPU half a second, and many that take turns
# slow each other down.
operations() {
  local program failed=0
  for program in "${kernel_tests[@]}"; do kernel_test "$program" "$gpu_tests" >"$bench_work/$program.said" 2>&1 & done
  for program in "${kernel_tests[@]}"; do wait -n || failed=1; done
  for program in "${kernel_tests[@]}"; do cat "$bench_work/$program.said"; done
  return $failed
}

sanitizer_tools=(memcheck synccheck racecheck initcheck)
# Our own kernels: what the libraries' do is theirs. Not the tests of many or large tensors: every access is recorded. Where
# memory is looked at, cuDNN's attention too: it is to write all of dQ.
sanitized_tests() {  # TOOL PROGRAM
  local short='*CudaAttention.equals_the_cpu_over_short_sequences'
  case $1-$2 in
    memcheck-cuda_attention_test | initcheck-cuda_attention_test) echo "$short/fp32:$short/bf16" ;;
    *-cuda_attention_test) echo "$short/fp32" ;;
    *-cuda_device_test) echo "$gpu_tests:*names_the_bytes*" ;;  # asks for more than there is, which memcheck counts
    *) echo '*/cuda_bf16:*/cuda_fp32:-*Linear*:*many_stretches*:*repeats*' ;;
  esac
}

do_sanitize() {
  local name tool failed=0
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null) ||
    { say "sanitize: FAILED: there is no compute-sanitizer here"; return 1; }
  for name in $(parts_of sanitize); do
    tool=${name#sanitize-}
    part "$name" under_sanitizer "${tool%%-*}" "${tool#*-}" || failed=1
  done
  return $failed
}
under_sanitizer() {  # TOOL PROGRAM
  kernel_test "$2" "$(sanitized_tests "$1" "$2")" "$sanitizer" --tool "$1" --error-exitcode 9 || return 1
  grep -q 'SUMMARY: 0 ' "$bench_work/$2.out" || { echo "$1 has not looked at $2, or found something"; return 1; }
}

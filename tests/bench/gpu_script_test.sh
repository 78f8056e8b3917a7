#!/usr/bin/env bash
# gpu.sh without a GPU: what it measures, what it refuses, and that it says why something failed and measures the rest.
# shellcheck disable=SC2015  # fail ends the script
set -u
source "$(dirname "$0")/gpu_stubs.sh"
copy_scripts
stub_tools
stub_programs

fail() { echo "FAILED: $*"; echo "--- stdout"; cat stdout; echo "--- stderr"; cat stderr; exit 1; }
script() { PATH=$PWD/bin:$PATH bash "$root/tests/bench/gpu.sh" "$@" >stdout 2>stderr; }
gpu() { script --built --python "$PWD/bin/python" --sizes gpt2-124m --rounds 1 "$@"; }
anew() { rm -rf "$build"/bench/gpu-* calls; }  # nothing is done
holds() { anew; gpu "$@" || fail "$*: status $?"; }
fails() {  # PATTERN of standard error, WORD …
  anew
  ! gpu "${@:2}" || fail "${*:2}: status 0"
  grep -q -e "$1" stderr || fail "${*:2}: nothing says why: $1"
}
prints() { grep -q -e "$1" stdout || fail "not printed: $1"; }
calls() { grep -c "^$1 " calls; }

holds check sanitize nccl curve table delegates
for program in kernels_operations_test cuda_attention_test attention_decode_test; do
  [ "$(grep -c "^compute-sanitizer .*/$program " calls)" = 4 ] || fail "$program under four tools"
done
grep -q '^compute-sanitizer --tool memcheck .*/cuda_device_test ' calls || fail "a device under memcheck"
[ "$(calls delegated_bench)" = 1 ] && grep -q '^delegated_bench .* cuda$' calls || fail "delegated messages on the GPU"
prints 'below 80 % of its bound: attention_backward (25 %, 40 % of the step, 4.000 ms)'
prints 'goal gpu.memory_percent (gpt2-124m, micro-batch 1): 0.00, wanted <= 2: met'
prints 'goal gpu.offload_ms_per_gb.*: 10.7., wanted <= 60: met'  # 524 288 tokens by 490 and 500 thousand a second, 2 GB
gpu delegates && [ "$(calls delegated_bench)" = 1 ] || fail "what is done is done again"
echo "# another program" >>"$build/tests/bench/delegated_bench"
gpu delegates && [ "$(calls delegated_bench)" = 2 ] || fail "another program counts as done"
echo "ok all is measured, once"

PASSED=0 fails 'no test ran' sanitize
PASSED=0 fails 'no test ran' check
SKIPS=1 fails 'tests were skipped' check
! ls "$build"/bench/gpu-*/operations.done 2>/dev/null || fail "skipped tests count as done"
echo 'echo "skipped: no data"; exit 77' >"$root/tests/app/golden_test.sh"
fails 'golden: nothing was tested' check
ls "$build"/bench/gpu-*/repeatable.done >/dev/null || fail "golden keeps others from being tested"
BROKEN=parallel.tensor_parallel_size=2 fails 'tensor: not over NCCL' nccl
ls "$build"/bench/gpu-*/nccl-data.done >/dev/null || fail "tensor keeps others from being tested"
echo "ok what ran no test is not done"

BROKEN=device.cuda_graph=true fails 'out of memory: device.cuda_graph=true' speed
prints '^gpt2-124m .*true-false  *500000 *400000 *1.2500'
prints '^gpt2-124m .*false-false '
prints 'goal gpu.gpt2-124m.ratio (true-false): 1.2500, wanted >= 1.15: met'
echo "ok a setting that fails hides no other"

LOSS=nan fails 'beside pytorch: FAILED: step 500 has no losses' curve --no-check
prints 'bf16 beside fp32 over 500 steps'
TAKEN=1030 fails 'missed: gpu.memory_percent' table
TAKEN='' fails 'nothing was measured' table --no-check
OFFLOADED=400000 fails 'missed: gpu.offload_ms_per_gb' table
COPIED=0.001 fails 'missed: gpu.delegates_copied_mb' delegates
sed -i 's/ms: 0.50 % slower/ms: nan % slower/' "$build/tests/bench/delegated_bench"
fails 'beside_delegates_percent: FAILED: 0 figures instead of 1' delegates --no-check
for value in nan inf '' '?'; do
  bash -c 'source "$0/tests/bench/goals.sh"; meets gpu.memory_percent "$1"' "$root" "$value" >stdout 2>stderr
  prints ': MISSED$'
done
echo "ok missed goals, and what is not found"

fails 'more than --minutes 1' curve --minutes 1
with_parts() {  # COMMAND, where a call has $1 more seconds than a part may take
  bash -uc 'for file in bench gpu/estimates gpu/parts; do source "$0/tests/bench/$file.sh"; done
    parts=$PWD left=$PWD/left minutes=9 end_s=$(($(limit_s delegates) + $1)); "${@:2}"' "$root" "$@" >stdout 2>stderr
}
with_parts -1 part delegates touch begun && [ "$(cat left)" = delegates ] && [ ! -e begun ] || fail "a part may end too late"
with_parts 5 part delegates touch begun && [ -e begun ] || fail "a part does not begin that has time"
before=$SECONDS
with_parts 0 ended_after 1 timeout 60 sleep 60.$$ && fail "too long, and status 0"
[ $((SECONDS - before)) -lt 20 ] && ! pgrep -f "^sleep 60.$$" >/dev/null || fail "it goes on beyond its time"
script --estimate check speed table delegates curve nccl
minutes=$(sed -n 's/.* at \([0-9]*\) minutes, .*/\1/p' stderr)
[ "$minutes" -le 45 ] || fail "$minutes minutes in all"
echo "ok time"

script pack && fail "programs that are not built are packed"
for program in matmul attention; do cp "$build/tenax" "$build/tests/bench/cuda_${program}_bench"; done
script pack || fail "not packed"
truncate -s 65M "$root/.bundle.tar.xz"
script pack && fail "too large, and packed"
grep -q 'more than the 67108864' stderr && [ ! -e "$root/.gpu/programs.tar.xz" ] || fail "an archive that is too large is left"
echo "ok pack"

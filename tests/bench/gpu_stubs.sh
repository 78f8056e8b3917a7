# A machine with a GPU for gpu_script_test.sh: tools and programs that print what the real ones print, in a copy of the scripts.
# Variables say what goes wrong: PASSED (tests), SKIPS, BROKEN (an option of runs that fail), LOSS (PyTorch's last), TAKEN (bytes),
# OFFLOADED (tokens/s), COPIED (MB). Each call is noted in the file `calls`. Sourced.
# shellcheck disable=SC2016  # what is in single quotes is for the stubs

root=$PWD/root build=$PWD/root/build
stub() {  # FILE, whose text is on standard input
  mkdir -p "$(dirname "$1")"
  { echo '#!/usr/bin/env bash'; echo "echo \"\${0##*/} \$*\" >>'$PWD/calls'"; cat; } >"$1"
  chmod +x "$1"
}

copy_scripts() {
  mkdir -p "$root"/{app,tests/bench,tests/app,build/bench}
  cp "$TENAX_SOURCE"/app/setup.sh "$root/app"
  cp -r "$TENAX_SOURCE"/tests/bench/{gpu,gpu.sh,bench.sh,goals.sh,*.toml} "$root/tests/bench"
  touch "$build"/bench/random-{256,8192,50257,50304}.bin
  mkdir "$root/.data" && touch "$root/.data/tinyshakespeare.txt"
  for name in golden repeatable graph adaptive generate; do echo 'echo "ok $0"' >"$root/tests/app/${name}_test.sh"; done
}

stub_tools() {
  stub bin/mpirun <<<'shift 2; exec "$@"'
  stub bin/xz <<<'exec cat'
  stub bin/strip <<<'cp "$3" "$2"'
  stub bin/compute-sanitizer <<<'while [ "${1#/}" = "$1" ]; do shift; done; "$@" && echo "========= ERROR SUMMARY: 0 errors"'
  stub bin/python <<'END'
case "$*" in
  *pytorch_gpt.py*) echo '{"batch": 64, "tokens_per_second": 400000.0}' ;;
  *json.load*) echo 1000 ;;
  *--write-weights*) : ;;
  *pytorch_curve.py*) for i in $(seq 499); do echo 2.0; done; echo "${LOSS:-2.0}" ;;
esac
END
}

stub_programs() {
  local name
  for name in kernels_operations_test cuda_attention_test attention_decode_test cuda_device_test; do
    stub "$build/tests/kernels/$name" <<<'[ -z "${SKIPS:-}" ] || echo "tests skip cuda: busy"; echo "[  PASSED  ] ${PASSED:-5} tests."'
  done
  stub "$build/tests/app/run_check" </dev/null
  stub "$build/tests/bench/step_breakdown" <<'END'
echo 'operation                         calls  ms a step   share  bound/ms   of it'
echo 'matmul                               12      5.000   50.0%      4.500   90.0% FLOP'
echo 'attention_backward                   12      4.000   40.0%      1.000   25.0% FLOP'
echo 'rest                                         1.000   10.0%'
echo "memory: ${TAKEN-1000} bytes taken"
END
  stub "$build/tests/bench/delegated_bench" <<'END'
echo "rank 0: copies out 50.0 GB/s, in 50.0, both at once 40.0 each way"
echo "one message alone: 40.0 GB/s each way, 85.0 % of 47.0"
for way in '0 to 1' '1 to 0' 'both ways at once'; do
  echo "$way: 40.0 GB/s each way, 85.0 % of 47.0; longest call of a launching thread 20 us, ${COPIED:-0.000} MB copied by processors"
done
echo '90 products beside messages: 100.50 ms, alone 100.00 ms: 0.50 % slower'
END
  stub_tenax
}

stub_tenax() {
  stub "$build/tenax" <<'END'
[ "$1" != plan ] || { echo '{"flop_per_token": 1e9, "memory_bytes_per_rank": {"optimizer": 2000000000, "total": 1000, "host": 1}}'; exit; }
[ -z "${BROKEN:-}" ] || [[ " $* " != *" $BROKEN "* ]] || { echo "out of memory: $BROKEN"; exit 1; }
for word; do [[ $word != run.output_dir=* ]] || directory=${word#*=}; done
rate=500000
[[ $* != *offload_optimizer=true* ]] || rate=${OFFLOADED:-490000}
mkdir -p "$directory"
for i in $(seq 500); do echo "{\"loss\": 2.0, \"tokens_per_second\": $rate}"; done >"$directory/metrics.jsonl"
echo '         matrix products measured at 800.5 TFLOP/s over all ranks'
echo '         and up to 1 GiB of host memory for activations that the device has no room for'
END
}

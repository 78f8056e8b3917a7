#!/usr/bin/env bash
# Runs libFuzzer with address and undefined-behaviour sanitizers on the targets of this folder, one after the other:
#   bash tests/fuzz/run.sh [SECONDS each (600)] [TARGET …]
# Inputs found on the way stay in build/fuzz/work/TARGET/corpus for the next call. Status 1 after a finding, which is
# kept beside them; a minute's silence on one input is a finding too. A finding that is mended goes to corpus/TARGET.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/app/setup.sh"

seconds=${1:-600}
[[ $seconds =~ ^[0-9]+$ ]] || { echo "run.sh: SECONDS must be a number, not '$seconds'" >&2; exit 2; }
shift $(($# > 0 ? 1 : 0))
targets=("$@")
if [ $# = 0 ]; then
  for source in "$here"/*_fuzz.cpp; do targets+=("$(basename "$source" _fuzz.cpp)"); done
fi
for target in "${targets[@]}"; do
  [ -e "$here/${target}_fuzz.cpp" ] || { echo "run.sh: there is no target '$target' in $here" >&2; exit 2; }
done

command -v clang++ >/dev/null && [ -n "$(find "$(clang++ -print-resource-dir)" -name 'libclang_rt.fuzzer-*' -print -quit)" ] || {
  echo "run.sh: needs clang with libFuzzer: apt-get install clang libclang-rt-14-dev (Debian 12), compiler-rt elsewhere" >&2
  exit 1
}
build_targets() { cmake --preset fuzz -S "$root" >/dev/null && ninja -C "$root/build/fuzz" "${targets[@]/#/fuzz_}"; }
mkdir -p "$root/build"
(flock 9 && build_targets) 9>"$root/build/fuzz.lock" || exit 1  # several of these may run at once, a target each

export_mpi_environment
export ASAN_OPTIONS=abort_on_error=0:allocator_may_return_null=0:detect_leaks=0
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
status=0
for target in "${targets[@]}"; do
  program=$root/build/fuzz/tests/fuzz/fuzz_$target
  work=$root/build/fuzz/work/$target
  mkdir -p "$work/corpus" "$work/seeds" "$work/tmp" "$here/corpus/$target"
  rm -rf "$work/seeds"/* "$work/tmp"/*
  TMPDIR=$work/tmp "$program" --seeds-to="$work/seeds"
  echo "== $target, $seconds s"
  (cd "$work" && TMPDIR=$work/tmp exec "$program" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=3000 -max_len=65536 \
    -print_final_stats=1 -artifact_prefix="$work/" corpus seeds "$here/corpus/$target") >"$work/log" 2>&1
  result=$?
  grep -E 'stat::number_of_executed_units|ERROR|SUMMARY|runtime error|does not hold|Test unit written' "$work/log"
  [ $result = 0 ] || { echo "== $target: a finding; see $work/log"; status=1; }
  rm -rf "$work/tmp"
done
exit $status

# Delegated messages. Sourced by gpu.sh.

do_delegates() {
  local failed=0 file=$parts/delegates.done
  part delegates mpirun -n 2 "$tenax_build/tests/bench/delegated_bench" 64 50 cuda || return 1
  is_done delegates || return 0
  all_hold gpu.delegates_percent 4 "$file" 's/^\(.*\): .* each way, \([0-9.]*\) % of .*/\2 \1/p' || failed=1
  all_hold gpu.delegates_copied_mb 3 "$file" 's/^\(.*\): .* each way.*, \([0-9.]*\) MB copied by processors$/\2 \1/p' || failed=1
  all_hold gpu.beside_delegates_percent 1 "$file" 's/.* ms: \([0-9.-]*\) % slower$/\1/p' || failed=1
  return $failed
}

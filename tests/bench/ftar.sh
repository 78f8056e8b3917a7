#!/usr/bin/env bash
# The all-reduce between replicas beside MPI_Allreduce in its best call size, and beside gloo's ring where libgloo-dev is
# installed: shared memory against shared memory, TCP against TCP, in the same run.
#
#   bash tests/bench/ftar.sh [--ranks "2 4 8"] [--ways "shm tcp"] [--sizes "1 4 16 64 256 1024"] [--rounds 5] [--check]
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

ranks="2 4 8" ways="shm tcp" sizes="1 4 16 64 256 1024" rounds=5
take_options "ranks ways sizes rounds" "" "$@"

build() {
  configure -DTENAX_TESTS=ON
  build_target ftar_bench
}

# measure RANKS WAY: one run; its lines, and their goals. MPI's own way between ranks of a host is shared memory.
measure() {
  local n=$1 way=$2 directory options=() line name
  directory=$(mktemp -d "$bench_work/gloo.XXXXXX")
  [ "$way" = shm ] || options=(--mca pml ob1 --mca btl "tcp,self" --mca btl_tcp_if_include lo)
  mpirun "${options[@]}" -n "$n" "$tenax_build/tests/bench/ftar_bench" "$way" --sizes "$sizes" --rounds "$rounds" \
    $([ "$way" = tcp ] && echo "--gloo $directory") | tee "$bench_work/ftar.log"
  [ "${PIPESTATUS[0]}" = 0 ] || die "ftar_bench failed"
  rm -rf "$directory"
  while read -r line; do
    for name in over_mpi over_gloo; do
      case $line in
        *"$name "*) meets "ftar.$way.$name" "$(sed "s/.*$name \([0-9.]*\).*/\1/" <<<"$line")" "${line%%:*}" ;;
      esac
    done
  done <"$bench_work/ftar.log"
}

with_build_lock build
export_mpi_environment
mkdir -p "$bench_work"
warn_if_busy
keep_awake
for n in $ranks; do
  for way in $ways; do measure "$n" "$way"; done
done
end_with_goals

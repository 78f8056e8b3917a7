#!/usr/bin/env bash
# Effective time of 12 emulated replicas of which one is killed every 180 s and repaired 100 s later, 10 s standing for a minute:
# with a synchronous restart, for which training waits until all are back, and with replicas that come back while the others
# train (FT-HSDP, section 6.1); then with a warm spare besides.
#
#   bash tests/bench/effective.sh [--replicas 12] [--failures 5] [--parts "synchronous ours spare"] [--check]
#
# A failure takes 30 s of real time. The repair's length is what a restart's delay makes it: the first one is measured, and the
# delay of the next cut by what a start takes.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

replicas=12 failures=5 parts="synchronous ours spare"
take_options "replicas failures parts" "" "$@"
figures=$bench_folder/effective_figures.py

build() {
  configure
  build_target tenax
}

# run PART DELAY FAILURES override…: a run that is struck so often; prints its figures, and lines `goal NAME VALUE`.
run() {
  local part=$1 delay=$2 count=$3 status=0
  shift 3
  rm -rf "${bench_work:?}/$part"
  "$tenax_build/tenax" launch "$bench_folder/replicas.toml" run.output_dir="$bench_work/$part" parallel.replicas="$replicas" \
    batch.global_batch_size=$((8 * replicas)) replicas.batch=shrink device.gradient_bytes=8 replicas.restart_delay_s="$delay" "$@" \
    >"$bench_work/$part.log" 2>&1 </dev/null &
  python3 "$figures" "$bench_work/$part" $! "$replicas" "$count" | tee "$bench_work/$part.figures" || status=1
  wait $! || status=1
  [ $status = 0 ] || { tail "$bench_work/$part.log" >&2; die "$part failed"; }
  "$tenax_build/tenax" audit "$bench_work/$part" || die "the audit"
  tail -n 1 "$bench_work/$part.log"
}

# What a start takes, from one failure without a delay.
start_s() { sed -n 's/^repair.* \([0-9.]*\) s$/\1/p' "$bench_work/$1.figures" | head -n 1; }

# do_part PART START override…: START is of the run that is measured first, beside those of all.
do_part() {
  local part=$1 first=$2 delay name value rest
  shift 2
  run start 0 1 $first >"$bench_work/start.out" || die "the first failure"
  delay=$(awk "BEGIN { d = 100 / 6 - $(start_s start); print (d > 0 ? d : 0) }")
  say "$part: a start takes $(start_s start) s; a replica starts $delay s after its death"
  run "$part" "$delay" "$failures" "$@"
  while read -r name value rest; do
    [ "$name" = goal ] && meets "effective.$part.$value" $rest "$replicas replicas"
  done <"$bench_work/$part.figures"
}
do_synchronous() { do_part synchronous "replicas.min_replicas=$replicas" "replicas.min_replicas=$replicas"; }
do_ours() { do_part ours ""; }
do_spare() {
  local hosts
  hosts=$(seq -f '"host%g"' -s , 0 "$replicas")
  do_part spare "" "replicas.hosts=[$hosts]" replicas.remote_shell="$shell" replicas.warm_spares=1
}

with_build_lock build
export_mpi_environment
mkdir -p "$bench_work"
stub_shell
warn_if_busy
keep_awake
for part in $parts; do "do_$part"; done
end_with_goals

#!/usr/bin/env bash
# Soft RDMA (tests/verbs) by figures: what connections leave behind; how long a link that fails holds messages up, and flaps; late
# packets and memory given back; rates and latency beside perftest's; idle connections; an emulated pipeline over a slow cable;
# refusals and peers that die.
#
#   bash tests/bench/verbs.sh [connections] [gaps] [flaps] [ghosts] [rate] [idle] [emulated] [messages]     (default: all)
#     [--rounds 3] [--mib 64] [--kinds "down_here down_there removed both_down silent silent_one_way unacknowledged withheld short_loss"]
#     [--connections 1000] [--messages 256] [--more] [--check]
#
# Each part has a guest of its own, which is gone after GUEST_SECONDS (570). --mib: each way in each round of gaps, and in flaps
# (full size: 1024, ten rounds). --messages: of 1 MiB, a round of rate. --more: adds to what earlier calls have measured of a part
# (build/bench/verbs-PART.log): rounds may come in several calls. --rounds 0: measures nothing; what earlier calls have measured.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

rounds=3 mib=64 connections=1000 messages=256 more=0 parts=()
kinds="down_here down_there removed both_down silent silent_one_way unacknowledged withheld short_loss"
while [ $# -gt 0 ]; do
  case $1 in
    --check) check=1; shift; continue ;;
    --more) more=1; shift; continue ;;
    connections | gaps | flaps | ghosts | rate | idle | emulated | messages) parts+=("$1"); shift; continue ;;
    --rounds) rounds=$2 ;; --mib) mib=$2 ;; --kinds) kinds=$2 ;; --connections) connections=$2 ;; --messages) messages=$2 ;;
    *) die "unknown option $1 (the head of $0 lists them)" ;;
  esac
  shift 2
done
[ ${#parts[@]} -gt 0 ] || parts=(connections gaps flaps ghosts rate idle emulated messages)
guest=$tenax_build/guest

build_all() {
  ensure_packages "${run_packages[@]}" "${test_packages[@]}"
  configure -DTENAX_TESTS=ON
  local target
  for target in tenax_in_guest carry_messages verbs_connections_test verbs_bench comm_verbs_test; do build_target $target; done
  bash "$tenax_root/tests/verbs/kernel.sh" "$guest" || die "no kernel for a guest"
}

# in_guest PART LINKS: a part's figures, in its log.
in_guest() {
  log=$bench_work/verbs-$1.log
  if [ "$rounds" != 0 ]; then
    [ $more = 1 ] || : >"$log"
    GUEST_LINKS=$2 GUEST_SECONDS=${GUEST_SECONDS:-570} bash "$tenax_root/tests/verbs/guest.sh" "$guest" \
      "bash '$bench_folder/verbs_guest.sh' $1" | tee -a "$log"
    echo "figure status ${PIPESTATUS[0]}" >>"$log"
  fi
  touch "$log"
  [ "$(worst status)" = 0 ] || missed_goals+=("$1: a guest's status is '$(worst status)'")
}
figures() { sed -n "s/^figure $1 //p" "$log"; }
best() { figures "$1" | sort -g | head -n 1; }
worst() { figures "$1" | sort -g | tail -n 1; }
middle() { figures "$1" | median; }
# table NAME …: a line for each that has figures.
table() {
  local name
  for name in "$@"; do
    [ -z "$(figures "$name")" ] || printf '%-24s %3d: median %s, %s to %s\n' "$name" "$(figures "$name" | wc -l)" \
      "$(middle "$name")" "$(best "$name")" "$(worst "$name")"
  done
}
# worst_meets GOAL NAME …: each that has figures.
worst_meets() {
  local goal=$1 name
  for name in "${@:2}"; do [ -z "$(figures "$name")" ] || meets "verbs.$goal" "$(worst "$name")" "$name"; done
}
divide() { awk "BEGIN { printf \"%.3f\", $1 / $2 }"; }

do_connections() {
  in_guest connections 1
  worst_meets left_kib left_kib
  worst_meets left_descriptors left_descriptors
}
do_gaps() {
  local kind
  in_guest gaps 2
  table {down_here,down_there,removed,both_down,silent,silent_one_way,unacknowledged}.{gap_s,again_s}
  for kind in down_here down_there removed both_down; do
    [ -z "$(figures $kind.gap_s)" ] || meets verbs.explicit_median_s "$(middle $kind.gap_s)" $kind
  done
  worst_meets explicit_worst_s {down_here,down_there,removed,both_down}.gap_s
  worst_meets silent_worst_s {silent,silent_one_way,unacknowledged}.gap_s
  worst_meets duplicates withheld.repeated
  worst_meets again_s {down_here,down_there,removed,both_down,silent,silent_one_way,unacknowledged}.again_s
  worst_meets made_again made_again
}
do_flaps() { in_guest flaps 2; worst_meets flap_reconnections flap_reconnections; }
do_ghosts() { in_guest ghosts 1; worst_meets ghost_mib ghost_mib; }
do_rate() {
  local kind
  in_guest rate 1
  table perftest_{send,write} rate_{ring,registered,offered} perftest_{send,write}_us latency_us
  [ -n "$(figures latency_us)" ] || return
  for kind in ring registered offered; do
    meets verbs.rate_percent "$(divide "100 * $(middle rate_$kind)" "$(middle perftest_send)")" "$kind, by ib_send_bw -e"
    say "$kind, by ib_write_bw, which polls: $(divide "100 * $(middle rate_$kind)" "$(middle perftest_write)") %"
  done
  meets verbs.latency_ratio "$(divide "$(middle latency_us)" "$(middle perftest_send_us)")" "by ib_send_lat -e"
  say "by ib_write_lat, which polls: $(divide "$(middle latency_us)" "$(middle perftest_write_us)")"
}
do_idle() { in_guest idle 1; table idle_ms; worst_meets idle_ms idle_ms; }
do_emulated() {
  in_guest emulated 3
  [ -n "$(figures delay_ms)" ] || { missed_goals+=("the delay, which was not measured"); return; }
  meets verbs.delay_off_percent "$(awk "BEGIN { d = 100 * ($(worst delay_ms) / 120 - 1); print d < 0 ? -d : d }")"
  meets verbs.reschedules "$(best reschedules)"
  worst_meets others_delegated others_delegated
}
# Lying lengths, keys and places come from a device that is not there (tests/comm/verbs/verbs_wire_test.cpp).
do_messages() {
  in_guest messages 1
  table killed_s stopped_late_s
  worst_meets killed_s killed_s
  worst_meets stopped_late_s stopped_late_s
  "$tenax_build/tests/comm/comm_verbs_test" --gtest_filter='VerbsWire.*:VerbsOffer.*' >"$bench_work/verbs-lies.log" ||
    { cat "$bench_work/verbs-lies.log"; missed_goals+=("a lie that is not refused"); }
  tail -n 1 "$bench_work/verbs-lies.log"
}

with_build_lock build_all
export_mpi_environment
mkdir -p "$bench_work"
export TENAX=$tenax_build/tests/verbs/tenax_in_guest TENAX_SOURCE=$tenax_root
export CARRY_MESSAGES=$tenax_build/tests/verbs/carry_messages CONNECTIONS_TEST=$tenax_build/tests/verbs/verbs_connections_test
export VERBS_BENCH=$tenax_build/tests/bench/verbs_bench rounds mib kinds connections messages
warn_if_busy
for part in "${parts[@]}"; do "do_$part"; done
end_with_goals

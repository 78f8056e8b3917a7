# A part of verbs.sh, in the guest: verbs_guest.sh PART. What it measures goes out as lines "figure NAME VALUE".
source "${BASH_SOURCE[0]%/*}/../verbs/checks.sh"
ulimit -n 8192  # 2000 strangers have two ends each
figure() { [ -n "$2" ] || fail "no figure $1"; echo "figure $1 $2"; }
# number_in PATTERN FILE: the number that the pattern's group is, of each line that has it.
number_in() { sed -nE "s/.*$1.*/\1/p" "$2"; }

do_connections() {
  CONNECTIONS=$connections "$CONNECTIONS_TEST" --gtest_filter='*leave_nothing_behind' --gtest_brief=1 | tee left
  figure left_kib "$(number_in 'left (-?[0-9]+) KiB' left)"
  figure left_descriptors "$(number_in 'and (-?[0-9]+) descriptors' left)"
}

# Each fault comes to links on which nothing has failed before: a port that was down lately would be left alone for a while.
do_gaps() {
  local kind round ways
  for ((round = 1; round <= rounds; ++round)); do
    for kind in $kinds; do
      ways=
      case $kind in both_down | withheld) ways=auto ;; esac
      carry "$mib" $ways
      if [ $kind = short_loss ]; then
        bridge 0.3
        figure made_again "$made_again"
      else
        endure $kind
        figure "$kind.gap_s" "$gap"
        figure "$kind.again_s" "$again"
        figure "$kind.resent" "$resent"
        ask repeated
        figure "$kind.repeated" "$answer"
        awk "BEGIN { exit !($gap > 0.7) }" && cat said.log  # what took so long
      fi
      carried
      ok "$kind, round $round: $(tail -n 1 said.log)"
    done
  done
}

# pause: a second, without a process, which takes its time to start while messages go.
pause() { read -rt 1 -u 8 || :; }
do_flaps() {
  local flap
  carry "$mib"
  mkfifo nothing
  exec 8<>nothing
  for ((flap = 0; flap < 30; ++flap)); do
    echo link set a0 down
    pause
    echo link set a0 up
    echo neighbour replace 10.77.0.2 lladdr "$(</sys/class/net/b0/address)" nud permanent dev a0
    pause
  done | ip -batch -
  ask most
  figure flap_reconnections $((answer - 1))
  carried
  ok "$(tail -n 1 said.log)"
}

do_ghosts() {
  local round
  for ((round = 0; round < rounds; ++round)); do
    "$CONNECTIONS_TEST" --gtest_filter='*late_writes*' --gtest_brief=1 | tee late
    figure ghost_mib "$(number_in 'late writes changed ([0-9]+) of' late)"
  done
}

# perftest PROGRAM BYTES OPTION …: between both devices, its line of figures.
perftest() {
  local program=$1 size=$2 server
  shift 2
  "$program" -d rxe_b0 -x 1 -F -s "$size" "$@" >server.log 2>&1 &
  server=$!
  sleep 2
  "$program" -d rxe_a0 -x 1 -F -s "$size" "$@" 127.0.0.1 >client.log 2>&1 && wait $server ||
    { cat client.log server.log; fail "$program $*"; }
  grep -E "^ *$size " client.log
}
# Its tests of writes know no events ("not available on WRITE verb"): beside those that poll, sends that sleep.
do_rate() {
  local round kind
  for ((round = 0; round < rounds; ++round)); do
    figure perftest_send "$(perftest ib_send_bw 65536 -e -n $((16 * messages)) | awk '{ print $4 }')"
    figure perftest_write "$(perftest ib_write_bw 65536 -n $((16 * messages)) | awk '{ print $4 }')"
    for kind in ring registered offered; do
      figure "rate_$kind" "$("$VERBS_BENCH" rate $kind $((messages / 4)) | number_in 'rate ([0-9.]+)' -)"
    done
    figure perftest_send_us "$(perftest ib_send_lat 64 -e -n 1000 | awk '{ print $5 }')"
    figure perftest_write_us "$(perftest ib_write_lat 64 -n 1000 | awk '{ print $5 }')"
    figure latency_us "$("$VERBS_BENCH" latency 1000 | number_in 'latency ([0-9.]+)' -)"
  done
}

do_idle() {
  local round
  for ((round = 0; round < rounds; ++round)); do
    figure idle_ms "$("$VERBS_BENCH" idle 8 60 | number_in 'idle ([0-9.]+)' -)"
  done
}

# The middle cable is slow, either way.
do_emulated() {
  local side events=runs/emulated/events.jsonl
  for side in a1 b1; do tc qdisc add dev $side root netem delay 120ms limit 100000; done
  mpirun -n 4 "$TENAX" "$TENAX_SOURCE/tests/bench/verbs_emulated.toml" >run.log 2>&1 </dev/null || { cat run.log; fail "the run"; }
  grep -E '"(straggler|delegate|reschedule|direct)"' $events || fail "no event"
  tail -n 1 runs/emulated/metrics.jsonl
  figure delay_ms "$(grep '"delegate"' $events | grep '"stages": \[1, 2\]' | number_in '"measured_delay_ms": ([0-9.]+)' - | head -n 1)"
  figure reschedules "$(grep -c '"reschedule"' $events)"
  figure others_delegated "$(grep '"delegate"' $events | grep -cv '"stages": \[1, 2\]')"
}

do_messages() {
  local round
  "$CONNECTIONS_TEST" --gtest_filter='SoftRdma.refuses_*:SoftRdma.keeps_no_peer_out*' | grep -F '[       OK ]'
  for ((round = 0; round < rounds; ++round)); do
    "$CONNECTIONS_TEST" --gtest_filter='PeerOverSoftRdma.*' --gtest_brief=1 | tee peer
    figure killed_s "$(number_in 'killed peer is noticed after ([0-9.]+) s' peer)"
    figure stopped_late_s "$(number_in 'ends a send (-?[0-9.]+) s after' peer)"
  done
  bash "$TENAX_SOURCE/tests/verbs/refusals_checks.sh"
}

set -o pipefail
case $1 in gaps | flaps) source "$TENAX_SOURCE/tests/verbs/carry.sh" ;; esac
"do_$1"

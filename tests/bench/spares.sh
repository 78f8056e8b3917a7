#!/usr/bin/env bash
# Past one machine, on one: how soon a warm spare takes the place of a replica that died, and a cold start for comparison; what the
# order of the ring saves where zones are far apart; how soon a standby supervisor is in charge.
#
#   bash tests/bench/spares.sh [--blows 5] [--times "1 7 15 30"] [--rounds 3] [--parts "warm zones standby"] [--check]
#
# warm: from the event replica_lost to replica_join, without the state's transfer; steps of 200 ms on the emulated device, which
# has no state, and a CPU run, which has.
# zones: five replicas in three zones, links between zones so many times as slow, by the best of all twelve rings, each run without
# zones; then the two in turn, so many rounds, medians, as the best of twelve runs is by chance a quick one. The less the links
# differ, the slower are all of them, so that waking five ranks is little of a step. A gradient of one piece: an injected delay
# holds each write in its turn, and whether several pieces go in one write is a matter of chance (three times the delay or nine).
# standby: by the test `etcd`, whose lease is 5 s.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

blows=5 times="1 7 15 30" rounds=3 parts="warm zones standby"
take_options "blows times rounds parts" "" "$@"
figures=$bench_folder/spares_figures.py

# spared NAME WARM DECK override…: two replicas, room for a third, $blows kills of replica 1's rank. Prints for each: seconds
# from the loss to the join, without the state's.
spared() {
  local name=$1 warm=$2 deck=$3
  shift 3
  rm -rf "${bench_work:?}/$name"
  "$tenax_build/tenax" launch "$deck" run.output_dir="$bench_work/$name" run.train_steps=1000000 run.log_interval=1000000 \
    checkpoint.interval=-1 parallel.replicas=2 'replicas.hosts=["a","b","c"]' replicas.remote_shell="$shell" replicas.warm_spares="$warm" \
    replicas.restart_limit=0 "$@" >"$bench_work/$name.log" 2>&1 </dev/null &
  python3 "$figures" spares "$bench_work/$name" $! "$warm" "$blows" || { tail "$bench_work/$name.log" >&2; die "$name"; }
  wait $!
  "$tenax_build/tenax" audit "$bench_work/$name" >&2 || die "the audit of $name"
}
do_warm() {
  local kind warm deck
  for kind in emulated cpu; do
    deck=("$bench_folder/replicas.toml" batch.global_batch_size=16 device.gradient_bytes=8)
    [ $kind = emulated ] || deck=("$bench_folder/tiny.toml" parallel.tensor_parallel_size=1 parallel.pipeline_parallel_size=1 parallel.data_parallel_size=1)
    for warm in 1 0; do
      spared warm-$kind-$warm $warm "${deck[@]}" >"$bench_work/seconds" || exit 1
      say "$kind, $([ $warm = 1 ] && echo "a warm spare" || echo cold): $(paste -sd ' ' "$bench_work/seconds") s from the loss to the join, without the state's"
      [ $warm = 0 ] || meets spares.warm_s "$(sort -g "$bench_work/seconds" | tail -n 1)" "$kind, the worst of $blows"
    done
  done
}

# A link between replicas $1 and $2 that is $3 ms slow.
slow() { printf '\n[[inject]]\nkind = "link_delay"\nreplicas = [%d, %d]\ndelay_ms = %s\n' "$@"; }
zones=(x y x z y)  # of hosts a to e
# ring NAME ZONED TIMES REPLICA…: milliseconds of a step where the replica at each place of these is on host a, b, …
ring() {
  local name=$1 zoned=$2 by=$3 i j near
  near=$(awk "BEGIN { near = 15 / $3; print (near > 4 ? 4 : near) }")
  shift 3
  local host=("$@")
  cp "$bench_folder/replicas.toml" "$bench_work/$name.toml"
  for ((i = 0; i < 5; ++i)); do
    for ((j = i + 1; j < 5; ++j)); do
      local ms=$near
      [ "${zones[${host[i]}]}" = "${zones[${host[j]}]}" ] || ms=$(awk "BEGIN { print $near * $by }")
      slow $i $j "$ms" >>"$bench_work/$name.toml"
    done
  done
  local names=(a b c d e) hosts= given=
  for i in "${host[@]}"; do hosts+="\"${names[i]}\"," given+="\"${zones[i]}\","; done
  rm -rf "${bench_work:?}/$name"
  "$tenax_build/tenax" launch "$bench_work/$name.toml" run.output_dir="$bench_work/$name" run.train_steps=40 parallel.replicas=5 \
    batch.global_batch_size=5 device.gradient_bytes=8 device.forward_ms=1 device.backward_input_ms=1 device.backward_weight_ms=1 \
    device.optimizer_ms=1 replicas.remote_shell="$shell" replicas.hosts="[${hosts%,}]" $([ "$zoned" = 0 ] || echo "replicas.zones=[${given%,}]") \
    >"$bench_work/$name.log" 2>&1 </dev/null || { cat "$bench_work/$name.log" >&2; die "$name"; }
  python3 "$bench_folder/replicas_figures.py" step "$bench_work/$name"
}
best_ring() {  # TIMES: the order of the ring without zones whose run was the quickest, in $best
  local order ms
  : >"$bench_work/zones-orders.ms"
  while read -r order; do
    ms=$(ring order 0 "$1" $order) || exit 1
    echo "$ms $order" >>"$bench_work/zones-orders.ms"
  done < <(python3 "$figures" rings 5)
  best=$(sort -g "$bench_work/zones-orders.ms" | head -n 1 | cut -d ' ' -f 2-)
}
do_zones() {
  local by best ours_ms best_ms crossings round
  for by in $times; do
    best_ring "$by"
    : >"$bench_work/zones-ours.ms" >"$bench_work/zones-best.ms"
    for ((round = 0; round < rounds; ++round)); do
      ring zones 1 "$by" 0 1 2 3 4 >>"$bench_work/zones-ours.ms"
      ring order 0 "$by" $best >>"$bench_work/zones-best.ms"
    done
    ours_ms=$(median <"$bench_work/zones-ours.ms") best_ms=$(median <"$bench_work/zones-best.ms")
    crossings=$(python3 "$figures" crossings "$bench_work/zones" "${zones[@]}")
    say "links between zones $by x as slow: $ours_ms ms a step, the best of all rings ($best) $best_ms ms, $crossings crossings"
    meets zones.over_best "$(awk "BEGIN { print $ours_ms / $best_ms }")" "$by x"
    meets zones.crossings "$crossings" "of three zones, $by x"
  done
}
do_standby() {
  ctest --test-dir "$tenax_build" -R '^etcd$' -V >"$bench_work/standby.log" 2>&1 || { tail "$bench_work/standby.log" >&2; die "the test etcd"; }
  local seconds
  for seconds in $(sed -nE 's/.*was killed \(([0-9.]+) s\), and from one that stopped \(([0-9.]+) s\).*/\1 \2/p' "$bench_work/standby.log"); do
    meets standby.seconds "$seconds" "with a lease of 5 s"
  done
}

prepare_bench
mkdir -p "$bench_work"
stub_shell
warn_if_busy
for part in $parts; do "do_$part"; done
end_with_goals

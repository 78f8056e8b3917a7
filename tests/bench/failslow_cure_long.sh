# Parts of failslow_cure.sh with several faults or systems; sourced by it.

# per_packet MS RANK OTHER: a link that is late by so much for each of a message's packets, 40 of which are one between stages.
per_packet() { echo "inject.0.kind=link_delay inject.0.ranks=[$2,$3] inject.0.per_packet_ms=$1 inject.0.packet_bytes=25000"; }
# A link of a data group: data 2 x pipeline 4 in zero bubble's order (PipeMorph, section 7.3), passes and delays of messages half as
# long as the 7B model's. Its 1765 packets each way make an iteration 8 times as long at the worst. Beside: the same link between two
# stages instead.
do_pipelined() {
  local pass_ms=4.72 from=22 to=56 steps=58 per none fixed adaptive placed
  local direct="pipeline.schedule=zero_bubble pipeline.p2p=direct" adapts="pipeline.schedule=adaptive pipeline.p2p=auto"
  local machine="device.direct_model=shared_channel device.gradient_bytes=88250000 device.link_gbps=400 device.jitter_percent=0.5"
  for per in 0.125 0.25 0.375; do
    to=40 steps=41 cured none 2 4 12 $machine $direct mitigate.strategies=[] $(per_packet $per 0 1)
    none=$(to=40 ratio none)
    cured fixed 2 4 12 $machine $direct 'mitigate.strategies=["swap"]' $(per_packet $per 0 1)
    fixed=$(ratio fixed)
    cured adaptive 2 4 12 $machine $adapts 'mitigate.strategies=["swap"]' $(per_packet $per 0 1)
    adaptive=$(ratio adaptive)
    bought adaptive
    printf '%s ms a packet: direct zero bubble %s, swap alone %s, swap and adaptive %s  %s\n' $per "$none" "$fixed" "$adaptive" \
      "$(python3 "$figures" actions "$bench_work/adaptive")"
    meets cure.pipelined_over_healthy "$adaptive" "$per ms a packet"
  done
  meets cure.pipelined_fault_off "$(off "$none" 8.04)" "$per ms a packet"
  cured placed 2 4 12 $machine $direct mitigate.strategies=[] $(per_packet $per 0 2)
  placed=$(ratio placed)
  cured placed 2 4 12 $machine $adapts mitigate.strategies=[] $(per_packet $per 0 2)
  printf '%s ms a packet between two stages: direct zero bubble %s, adaptive %s\n' $per "$placed" "$(ratio placed)"
  meets cure.pipelined_over_healthy "$(ratio placed)" "between two stages"
}

# A slow link, then also a slow rank, for so long that a start elsewhere pays; the other hosts are said to be there, and the second
# start is without the faults, as they stay behind. (The emulated device has no checkpoint: its steps count from 0 again.)
do_compound() {
  local steps=600 from=30 to=600 status=0 left
  local layout="parallel.tensor_parallel_size=1 parallel.data_parallel_size=4 parallel.pipeline_parallel_size=4 batch.global_batch_size=32
    device.forward_ms=2 device.backward_input_ms=2 device.backward_weight_ms=2"
  local program=(mpirun -n 16 "$tenax_build/tenax" "$bench_folder/failslow.toml" $layout)
  rm -rf "$bench_work/compound" "$bench_work/elsewhere"
  SLURM_JOB_NUM_NODES=2 "${program[@]}" run.output_dir="$bench_work/compound" run.train_steps=$steps \
    'mitigate.strategies=["swap", "microbatches"]' mitigate.restart=exit mitigate.restart_cost_s=4 \
    $(slow_link 0 1 2 20) inject.0.from_step=30 $(slow_rank 1 15 2.5) inject.1.from_step=110 \
    >"$bench_work/compound.log" 2>&1 </dev/null || status=$?
  [ $status = 3 ] || { cat "$bench_work/compound.log" >&2; say "compound: status $status, not 3"; }
  left=$((steps - $(grep -c iteration_seconds "$bench_work/compound/metrics.jsonl")))
  [ $left -gt 40 ] || left=40
  ends elsewhere "${program[@]}" run.train_steps=$left
  bought compound
  python3 "$figures" timeline "$bench_work/compound" "$bench_work/elsewhere"
  meets cure.compound_out_of_order "$(python3 "$figures" out_of_order "$bench_work/compound" swap microbatches restart)" "status $status"
}

# Twelve faults (Greyhound, table 6): without them, with nothing done about them, and with all strategies.
do_events() {
  local deck=$bench_folder/failslow_events.toml run options
  for run in $runs; do
    options=(mitigate.strategies=[])
    [ $run != healthy ] || mapfile -t -O 1 options < <(python3 "$figures" without "$deck")
    [ $run != all ] || options=('mitigate.strategies=["microbatches", "ring", "swap"]')
    ends "events-$run" mpirun -n 32 "$tenax_build/tenax" "$deck" "${options[@]}"
  done
  for run in healthy none all; do
    [ -e "$bench_work/events-$run/metrics.jsonl" ] || { say "events: $run is still to be run"; return; }
  done
  bought events-all
  python3 "$figures" told "$bench_work/events-all"
  python3 "$figures" actions "$bench_work/events-all" | tr ';' '\n'
  local name value
  while read -r name value; do
    say "events: $name $value"
    meets "cure.events_$name" "$value"
  done < <(python3 "$figures" compare "$bench_work"/events-{healthy,none,all})
}

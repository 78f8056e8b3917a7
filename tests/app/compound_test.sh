# What a run on the emulated device does against faults that one strategy does not cure: ranks change places because of a slow link,
# microbatches are shared out because of a rank that becomes slow besides, and in the end the run leaves its host.
source "$(dirname "$0")/failslow.sh"
deck=$TENAX_SOURCE/tests/bench/failslow.toml
slow_link='inject.0.kind=link_delay inject.0.ranks=[0,1] inject.0.delay_ms=60 inject.0.from_step=30'

# A slow link of a data group: no ring of two leaves it out, and other places do. They are taken back when tests say that it has healed
# and min_gain of the iterations since is more than a move costs. Beside other programs that is ten times as much as alone, and each
# iteration takes longer while anything is slow, as delays are measured in all.
other_places() {
  must_train 4 $deck run.name=$1 $(layout 1 2 2) batch.global_batch_size=16 run.train_steps=240 device.forward_ms=3 \
    device.backward_input_ms=3 device.backward_weight_ms=3 detect.probe_seconds=0.3 \
    'mitigate.strategies=["swap"]' mitigate.min_gain=0.1 $slow_link inject.0.to_step=80
  acts $1 mitigate swap '"rank_of_position": \[0, *3, *2, *1\]\|"rank_of_position": \[2, *1, *0, *3\]' && paid $1 &&
    acts $1 revert swap '"reason": "healed".*"rank_of_position": \[0, *1, *2, *3\]' && heals $1 '"ranks": \[0, *1\]' &&
    awk -v h="$(median_ms $1 8 30)" -v n="$(median_ms $1 30 36)" -v c="$(median_ms $1 64 80)" 'BEGIN { exit !(n > 1.8 * h && c < 1.5 * h) }'
}
found other_places

# Another host is said to be there.
all_in_turn() {
  local status=0
  SLURM_JOB_NUM_NODES=2 train 4 $deck run.name=$1 $(layout 1 2 2) batch.global_batch_size=16 run.train_steps=600 device.forward_ms=3 \
    device.backward_input_ms=3 device.backward_weight_ms=3 'mitigate.strategies=["swap", "microbatches"]' mitigate.restart=exit \
    mitigate.restart_cost_s=3 $slow_link inject.1.kind=slow_compute inject.1.rank=3 inject.1.factor=2.5 inject.1.from_step=80 || status=$?
  [ $status = 3 ] && paid $1 && [ "$(events $1 mitigate | sed 's/.*"strategy": "\([a-z]*\)".*/\1/' | uniq | tr '\n' ' ')" = "swap microbatches restart " ] &&
    [ "$(cat runs/$1/exclude_hosts.txt)" = "$(hostname)" ] && tail -n 1 runs/$1/events.jsonl | grep -q '"reason": "restart"'
}
found all_in_turn

# All hosts of the allocation are left out already, or used: nowhere to go.
for stays in stays-1 stays-2 stays-3; do
  mkdir -p runs/$stays
  echo elsewhere >runs/$stays/exclude_hosts.txt
  SLURM_JOB_NUM_NODES=2 must_train 2 $deck run.name=$stays $(layout 1 1 2) batch.global_batch_size=8 run.train_steps=50 \
    mitigate.strategies=[] mitigate.restart=exit mitigate.restart_cost_s=0.2 \
    inject.0.kind=slow_compute inject.0.rank=1 inject.0.factor=3 inject.0.from_step=25
  ! events $stays mitigate | grep -q . || fail "a run without another host was ended: $(events $stays mitigate)"
  events $stays fail_slow | grep -q '"rank": 1' && break
done || fail "the run was not slow: $(cat runs/$stays/events.jsonl)"
echo "ok a run stays where it has nowhere to go"

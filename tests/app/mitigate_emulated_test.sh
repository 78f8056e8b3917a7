# What a run on the emulated device does against a rank or a link that has become slow. (mitigate_test.sh: on the CPU.)
source "$(dirname "$0")/failslow.sh"
deck=$TENAX_SOURCE/tests/bench/failslow.toml
shares='mitigate.strategies=["microbatches"]'
fault='inject.0.kind=slow_compute inject.0.from_step=30 inject.0.to_step=90'

# Three in four of the samples of a slow rank go to the others; when it has healed all is as before.
slow_of_four() {
  must_train 4 $deck run.name=$1 $(layout 1 1 4) batch.global_batch_size=48 run.train_steps=120 device.forward_ms=2 \
    device.backward_input_ms=2 device.backward_weight_ms=2 "$shares" $fault inject.0.rank=2 inject.0.factor=2
  acts $1 mitigate microbatches '"microbatches": \[14, *14, *7, *13\]\|"microbatches": \[1[345], *1[345], *[678], *1[345]\]' && paid $1 &&
    acts $1 revert microbatches '"reason": "healed".*"microbatches": \[12, *12, *12, *12\]' &&
    awk -v h="$(median_ms $1 8 30)" -v c="$(median_ms $1 70 90)" 'BEGIN { exit !(c < 1.5 * h) }'
}
found slow_of_four
grep -q '"microbatches": \[1' runs/$found/metrics.jsonl || fail "metrics do not tell the shares"
! tail -n 3 runs/$found/metrics.jsonl | grep -q microbatches || fail "metrics tell even shares"

# A ring of four goes round without its slow link, whose healing is found by tests: nothing uses it meanwhile.
slow_link() {
  must_train 4 $deck run.name=$1 $(layout 1 1 4) batch.global_batch_size=48 run.train_steps=220 device.forward_ms=1.5 \
    device.backward_input_ms=1.5 device.backward_weight_ms=1.5 detect.probe_seconds=0.3 'mitigate.strategies=["ring"]' inject.0.kind=link_delay \
    "inject.0.ranks=[1, 2]" inject.0.delay_ms=12 inject.0.from_step=30 inject.0.to_step=110
  acts $1 mitigate ring '"order": \[' && paid $1 && acts $1 revert ring '"reason": "healed".*"order": \[0, *1, *2, *3\]' &&
    heals $1 '"ranks": \[1, *2\]' &&
    awk -v h="$(median_ms $1 8 30)" -v c="$(median_ms $1 90 110)" 'BEGIN { exit !(c < 1.25 * h) }'
}
found slow_link

# Nothing may be done: nothing is.
must_train 4 $deck run.name=idle $(layout 1 1 4) batch.global_batch_size=16 run.train_steps=60 mitigate.strategies=[] \
  inject.0.kind=slow_compute inject.0.from_step=25 inject.0.rank=1 inject.0.factor=2
! events idle mitigate | grep -q . || fail "something was done: $(events idle mitigate)"
echo "ok nothing is done where nothing may be"

# A rank whose operations take three times as long: its run's steps do, in the steps that the deck names and in no others, where
# all the other ranks of its group wait for it. On the CPU the run learns the same, bit for bit.
source "$(dirname "$0")/common.sh"
cat >emulated.toml <<'D'
[run]
train_steps = 24
[batch]
global_batch_size = 8
[device]
kind = "emulated"
forward_ms = 6
backward_input_ms = 6
backward_weight_ms = 6
optimizer_ms = 4
[checkpoint]
interval = -1
D
fault='inject.0.kind=slow_compute inject.0.rank=1 inject.0.from_step=8 inject.0.to_step=16'

# median_s RUN FIRST LAST: of the steps FIRST to LAST, as metrics count them: from 1.
median_s() {
  sed -n 's/.*"step": \([0-9]*\),.*"seconds": *\([0-9.e-]*\).*/\1 \2/p' "runs/$1/metrics.jsonl" |
    awk -v first="$2" -v last="$3" '$1 >= first && $1 <= last { print $2 }' | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
# is_slow RUN: three times as long, within what a busy machine does to the ratio.
is_slow() {
  local healthy slow
  healthy=$(median_s "$1" 2 7) slow=$(median_s "$1" 10 15) after=$(median_s "$1" 18 23)
  awk -v a="$healthy" -v b="$slow" -v c="$after" 'BEGIN { exit !(a > 0 && b > 2 * a && b < 4.5 * a && c < 0.7 * b) }' ||
    fail "$1: steps of $healthy s, with a slow rank $slow s, after it $after s"
  echo "ok $1: $healthy s, $slow s, $after s"
}

must_train 2 emulated.toml run.name=data $(layout 1 1 2) device.gradient_bytes=1000 $fault inject.0.factor=3
is_slow data
must_train 2 emulated.toml run.name=tensor $(layout 2 1 1) batch.global_batch_size=4 $fault inject.0.factor=3
is_slow tensor

# The run itself says so, and when it is over: of all changes that it tells, the two near the steps of the fault.
must_train 2 emulated.toml run.name=told $(layout 1 1 2) batch.global_batch_size=4 device.gradient_bytes=1000 \
  inject.0.kind=slow_compute inject.0.rank=1 inject.0.from_step=40 inject.0.to_step=60 inject.0.factor=3 run.train_steps=80
changes() { sed -n "s/.*\"event\": \"$1\", \"iteration\": \([0-9]*\),.*/\1/p" runs/told/events.jsonl; }
near() { awk -v at="$1" '$1 >= at - 2 && $1 <= at + 2 { found = 1 } END { exit !found }'; }
changes onset | near 40 || fail "no onset at step 40: $(cat runs/told/events.jsonl)"
changes relief | near 60 || fail "no relief at step 60: $(cat runs/told/events.jsonl)"
grep -q '"reason": "completed", "tracking_share": [0-9]' runs/told/events.jsonl || fail "the end does not tell what tracking took"
must_train 2 emulated.toml run.name=untold $(layout 1 1 2) device.gradient_bytes=1000 batch.global_batch_size=4 detect.enabled=false run.train_steps=30
! grep -q "onset\|tracking_share" runs/untold/events.jsonl || fail "it tracks though it must not"
echo "ok onset and relief"

sed "s|\"initial.safetensors\"|\"$golden/initial.safetensors\"|; s|\"tokens.bin\"|\"$golden/tokens.bin\"|" "$golden/golden.toml" >cpu.toml
short="run.train_steps=20 optimizer.lr_decay_steps=20 checkpoint.interval=-1 device.kind=cpu"
must_train 2 cpu.toml run.name=quiet $(layout 1 1 2) $short
must_train 2 cpu.toml run.name=slowed $(layout 1 1 2) $short $fault inject.0.factor=3
claim same runs/quiet/metrics.jsonl runs/slowed/metrics.jsonl
echo "ok the same losses on a slow CPU"

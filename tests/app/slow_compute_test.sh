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

# shortest_s RUN FIRST LAST: of the steps FIRST to LAST, as metrics count them: from 1. Scripts that run at the same time lengthen
# some; what is slow is slow in all.
shortest_s() {
  sed -n 's/.*"step": \([0-9]*\),.*"seconds": *\([0-9.e-]*\).*/\1 \2/p' "runs/$1/metrics.jsonl" |
    awk -v first="$2" -v last="$3" '$1 >= first && $1 <= last { print $2 }' | sort -g | head -n 1
}
# are_slow NAME OVERRIDE …: with the fault the steps of a run on two ranks are three times as long, within what a busy machine does to the
# ratio. Three tries: those scripts may have the processors during all the steps before, with, or after the fault.
are_slow() {
  local name=$1 try run healthy slow after
  shift
  for try in 1 2 3; do
    run=$name-$try
    must_train 2 emulated.toml run.name=$run "$@" $fault inject.0.factor=3
    healthy=$(shortest_s $run 2 7) slow=$(shortest_s $run 10 15) after=$(shortest_s $run 18 23)
    echo "$run: steps of $healthy s, with a slow rank $slow s, after it $after s"
    awk -v a="$healthy" -v b="$slow" -v c="$after" 'BEGIN { exit !(a > 0 && b > 2 * a && b < 4.5 * a && c < 0.7 * b) }' || continue
    echo "ok $name"
    return
  done
  fail "$name"
}

are_slow data $(layout 1 1 2) device.gradient_bytes=1000
are_slow tensor $(layout 2 1 1) batch.global_batch_size=4

# The run itself says so, and when it is over: of all changes that it tells, the two near the steps of the fault.
near() {
  sed -n "s/.*\"event\": \"$1\", \"iteration\": \([0-9]*\),.*/\1/p" "runs/$run/events.jsonl" |
    awk -v at="$2" '$1 >= at - 2 && $1 <= at + 2 { found = 1 } END { exit !found }'
}
tells_it() {
  local try
  for try in 1 2 3; do
    run=told-$try
    must_train 2 emulated.toml run.name=$run $(layout 1 1 2) batch.global_batch_size=4 device.gradient_bytes=1000 \
      inject.0.kind=slow_compute inject.0.rank=1 inject.0.from_step=40 inject.0.to_step=60 inject.0.factor=3 run.train_steps=80
    near onset 40 && near relief 60 && return
  done
  fail "no onset at step 40, or no relief at step 60: $(cat runs/told-*/events.jsonl)"
}
tells_it
grep -q '"reason": "completed", "tracking_share": [0-9]' "runs/$run/events.jsonl" || fail "the end does not tell what tracking took"
must_train 2 emulated.toml run.name=untold $(layout 1 1 2) device.gradient_bytes=1000 batch.global_batch_size=4 detect.enabled=false run.train_steps=30
! grep -q "onset" runs/untold/events.jsonl || fail "it tracks though it must not"
tail -n 1 runs/untold/events.jsonl | grep -q '"tracking_share": 0, "lost_seconds": 0, "mitigation_seconds": 0}' ||
  fail "the end of a run that detects nothing: $(tail -n 1 runs/untold/events.jsonl)"
echo "ok onset and relief"

sed "s|\"initial.safetensors\"|\"$golden/initial.safetensors\"|; s|\"tokens.bin\"|\"$golden/tokens.bin\"|" "$golden/golden.toml" >cpu.toml
short="run.train_steps=20 optimizer.lr_decay_steps=20 checkpoint.interval=-1 device.kind=cpu"
must_train 2 cpu.toml run.name=quiet $(layout 1 1 2) $short
must_train 2 cpu.toml run.name=slowed $(layout 1 1 2) $short $fault inject.0.factor=3
claim same runs/quiet/metrics.jsonl runs/slowed/metrics.jsonl
echo "ok the same losses on a slow CPU"

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
must_train 2 emulated.toml run.name=tensor $(layout 2 1 1) $fault inject.0.factor=3
is_slow tensor

sed "s|\"initial.safetensors\"|\"$golden/initial.safetensors\"|; s|\"tokens.bin\"|\"$golden/tokens.bin\"|" "$golden/golden.toml" >cpu.toml
short="run.train_steps=20 optimizer.lr_decay_steps=20 checkpoint.interval=-1 device.kind=cpu"
must_train 2 cpu.toml run.name=quiet $(layout 1 1 2) $short
must_train 2 cpu.toml run.name=slowed $(layout 1 1 2) $short $fault inject.0.factor=3
claim same runs/quiet/metrics.jsonl runs/slowed/metrics.jsonl
echo "ok the same losses on a slow CPU"

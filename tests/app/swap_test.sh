# Ranks that change places while they train on the CPU, away from a slow link between the pipelines: the run learns, and saves, bit
# for bit what a quiet one does; also where a link within a pipeline is cut as well.
source "$(dirname "$0")/failslow.sh"
# A validation between, and a checkpoint that is being written now and then.
steps="run.train_steps=100 optimizer.lr_decay_steps=100 run.eval_interval=20 run.eval_steps=1 checkpoint.interval=9 checkpoint.keep=100"
deck() { sed "s|\"initial.safetensors\"|\"$golden/initial.safetensors\"|; s|\"tokens.bin\"|\"$golden/tokens.bin\"\nvalidation = \"$golden/tokens.bin\"|" "$golden/golden.toml"; }
deck >golden.toml
slow_link='inject.0.kind=link_delay inject.0.delay_ms=40 inject.0.from_step=24 inject.0.to_step=54'
cut='inject.1.kind=link_down inject.1.path=direct inject.1.data=1 inject.1.from_step=20 inject.1.to_step=80'

eight() { must_train 8 golden.toml run.name=$1 $(layout 2 2 2) $steps detect.warmup=4 detect.probe_seconds=0.3 "${@:2}"; }
eight quiet mitigate.strategies=[]

# swaps NAME override…: whether ranks changed places, with their state; then it has learnt what `quiet` has.
swaps() {
  local name=$1 checkpoint
  eight $name 'mitigate.strategies=["swap"]' $slow_link "inject.0.ranks=[0, 2]" "${@:2}"
  claim same runs/quiet/metrics.jsonl runs/$name/metrics.jsonl
  for checkpoint in runs/quiet/checkpoints/step-*.h5; do
    checksums $checkpoint >quiet.txt
    checksums runs/$name/checkpoints/${checkpoint##*/} >disturbed.txt
    [ -s quiet.txt ] && cmp quiet.txt disturbed.txt || fail "$name: ${checkpoint##*/} differs"
  done
  # On a crowded machine others may be told of as well.
  acts $name mitigate swap '"ranks": \[0, *2\].*"group": "data".*"rank_of_position": \[.*"generation": 1.*"bytes": [1-9]' && paid $name
}
slow_link() { swaps $1; }
slow_and_cut_links() {
  swaps $1 $cut "inject.1.stages=[0, 1]" && events $1 delegate | grep -q '"reason": "direct path failed"'
}
found slow_link
found slow_and_cut_links

#!/usr/bin/env bash
# A checkpoint with one flipped bit, at random places, every tenth in the seal; and cut short or lengthened: `tenax inspect`
# must refuse each with one line, and a run must pass over it for the checkpoint before.
#
#   bash tests/soak/flips.sh [FLIPS=200] [SEED=1]
source "$(dirname "$0")/common.sh"
flips=${1:-200}
RANDOM=${2:-1}
enter_work flips
must_train 1 soak.toml run.name=run run.train_steps=46 optimizer.lr_decay_steps=60 $(layout 1 1 1)
good=$work/good.h5 bad=runs/run/checkpoints/step-000046.h5
mv $bad "$good"
bytes=$(stat -c %s "$good")

random_below() { echo $((((RANDOM << 30) | (RANDOM << 15) | RANDOM) % $1)); }

flip() {  # OFFSET BIT
  perl -e 'open my $f, "+<", $ARGV[0]; binmode $f; seek $f, $ARGV[1], 0; read $f, my $c, 1; seek $f, $ARGV[1], 0;
    print $f chr(ord($c) ^ (1 << $ARGV[2]))' "$bad" "$1" "$2"
}

refused() {  # WHAT
  local status=0
  timeout 20 "$TENAX" inspect "$bad" >inspect.out 2>inspect.err || status=$?
  [ $status = 1 ] || { failed "$1: inspect has status $status"; return; }
  [ "$(grep -c . inspect.err)" = 1 ] || failed "$1: not one line: $(cat inspect.err)"
  tally refused
}

for ((i = 0; i < flips; ++i)); do
  cp "$good" $bad
  offset=$(random_below $((i % 10 == 0 ? 60 : bytes))) bit=$((RANDOM % 8))
  flip "$offset" $bit
  refused "bit $bit of byte $offset"
  if ((i % 20 == 0)); then
    rm -rf resumed && cp -r runs/run resumed
    train 1 soak.toml run.output_dir=$work/resumed run.train_steps=50 optimizer.lr_decay_steps=60 $(layout 1 1 1) ||
      failed "bit $bit of byte $offset: resuming: $(cat err.log)"
    grep -q '"event": "resume".*step-000046.h5' resumed/events.jsonl || failed "the resume event does not name what was passed over"
    tally "resumed from the checkpoint before"
  fi
done
for ((i = 0; i < 20; ++i)); do
  head -c "$(random_below "$bytes")" "$good" >$bad
  refused "cut to $(stat -c %s $bad) bytes"
done
cp "$good" $bad && echo >>$bad
refused "lengthened"
finish "$flips flips, 20 cuts, one longer file"

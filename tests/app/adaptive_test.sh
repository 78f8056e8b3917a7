# A pipeline on the CPU whose link gets slow and heals, and one whose direct path is cut in mid-iteration, learn bit for bit what an
# undisturbed one does, without a restart.
source "$(dirname "$0")/common.sh"
steps="run.train_steps=40 optimizer.lr_decay_steps=40 checkpoint.interval=-1 data.order=shuffled"

# deck NAME FAULT: golden.toml with 4 stages and a fault.
deck() {
  { sed "s|\"initial.safetensors\"|\"$golden/initial.safetensors\"|; s|\"tokens.bin\"|\"$golden/tokens.bin\"|" "$golden/golden.toml"
    printf '%s\n' "$2"; } >"$1.toml"
}
event() { grep "\"event\": \"$2\"" "runs/$1/events.jsonl"; }
step_of() { sed -n 's/.*"step": \([0-9]*\).*/\1/p' | head -n 1; }

deck quiet ""
deck slow '[[inject]]
kind = "link_delay"
stages = [1, 2]
from_step = 10
to_step = 25
delay_ms = 30.0'
deck cut '[[inject]]
kind = "link_down"
stages = [1, 2]
path = "direct"
from_step = 10
to_step = 25'

for name in quiet slow cut; do
  for sizes in "1 4 1" "2 2 1"; do
    [ "$name" != quiet ] && [ "$sizes" = "2 2 1" ] && continue
    must_train 4 $name.toml run.name=$name${sizes// /} $(layout $sizes) $steps
  done
done
for name in slow cut; do claim same runs/quiet141/metrics.jsonl runs/${name}141/metrics.jsonl; done
echo "ok losses are those of an undisturbed run"

detected=$(event slow141 delegate | grep '"stages": \[1.*"measured_delay_ms": [23][0-9]\.' | step_of)
[ -n "$detected" ] && [ "$detected" -ge 10 ] && [ "$detected" -le 12 ] || fail "the slow link was delegated after step '$detected'"
healed=$(event slow141 direct | grep '"stages": \[1' | step_of)
[ -n "$healed" ] && [ "$healed" -ge 25 ] || fail "the link went back after step '$healed'"
echo "ok delegated within 3 iterations, and direct again"

cut=$(event cut141 delegate | grep '"step": 10, .*"stages": \[1.*"reason": "direct path failed"') || fail "the cut link was not delegated after step 10"
number_of() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p"; }
before=$(echo "$cut" | number_of direct_messages) after=$(echo "$cut" | number_of delegated_messages)
# 8 microbatches, an activation and a gradient each. The end that is cut first has sent and received 8 messages, at least one
# of which, a gradient, answers another; it lacks the other 8.
[ "$before" -ge 2 ] && [ "$after" -ge 7 ] && [ $((before + after)) = 16 ] || fail "$before messages before the cut, $after after it"
back=$(event cut141 direct | grep '"stages": \[1') || fail "the direct path was not built anew"
for told in "$cut" "$back"; do
  for time in measured_delay measured_iteration predicted_iteration achieved_iteration; do
    [ -n "$(echo "$told" | number_of ${time}_ms)" ] || fail "no ${time}_ms in $told"
  done
done
[ "$(grep -c '"event": "start"' runs/cut141/events.jsonl)" = 1 ] || fail "the cut run was restarted"
echo "ok a path that is cut in mid-iteration ends nothing: $before messages went before, $after over delegates"

# What was decided after the step that ends a run (its updates diverge, ten steps in a row are skipped) is told as well.
! train 4 cut.toml run.name=failed $(layout 1 4 1) $steps optimizer.lr=1e30 optimizer.clip_grad=0 || fail "a diverged run succeeded"
tail -n 2 runs/failed/events.jsonl | tr -d '\n' | grep -q '"event": "delegate".*"event": "end".*"reason": "failed"' || {
  cat err.log runs/failed/events.jsonl >&2
  fail "the last decision of a failed run is not told"
}
echo "ok a failed run tells its last decision"

# Delegates alone, over sockets and over shared memory, are the same run too.
for transport in tcp shm; do
  must_train 4 quiet.toml run.name=$transport $(layout 1 4 1) $steps pipeline.p2p=delegated comm.transport=$transport
  claim same runs/quiet141/metrics.jsonl runs/$transport/metrics.jsonl
done
echo "ok delegated over tcp and shm"

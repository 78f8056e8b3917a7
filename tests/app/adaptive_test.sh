# A pipeline on the CPU whose link gets slow and heals, and one whose direct path is cut in mid-run, learn bit for bit what an
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

event cut141 delegate | grep -q '"step": 10, .*"stages": \[1' || fail "the cut link was not delegated after step 10"
event cut141 direct | grep -q '"stages": \[1' || fail "the direct path was not built anew"
[ "$(grep -c '"event": "start"' runs/cut141/events.jsonl)" = 1 ] || fail "the cut run was restarted"
echo "ok a cut path ends nothing"

# Delegates alone, over sockets and over shared memory, are the same run too.
for transport in tcp shm; do
  must_train 4 quiet.toml run.name=$transport $(layout 1 4 1) $steps pipeline.p2p=delegated comm.transport=$transport
  claim same runs/quiet141/metrics.jsonl runs/$transport/metrics.jsonl
done
echo "ok delegated over tcp and shm"

# A pipeline on the CPU whose link gets slow and heals, and one whose direct path is cut in mid-iteration, learn bit for bit what an
# undisturbed one does, without a restart.
source "$(dirname "$0")/common.sh"
steps="run.train_steps=80 optimizer.lr_decay_steps=80 checkpoint.interval=-1 data.order=shuffled"

# deck NAME FAULT: golden.toml with 4 stages and a fault.
deck() {
  { sed "s|\"initial.safetensors\"|\"$golden/initial.safetensors\"|; s|\"tokens.bin\"|\"$golden/tokens.bin\"|" "$golden/golden.toml"
    printf '%s\n' "$2"; } >"$1.toml"
}
event() { grep "\"event\": \"$2\"" "runs/$1/events.jsonl"; }
number_of() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p"; }
# path_before RUN STEP: of link 1, whatever it was that changed it last. On a busy machine messages are late without any
# fault, and the controller answers that too.
path_before() {
  grep '"stages": \[1' "runs/$1/events.jsonl" | sed -n 's/.*"step": \([0-9]*\), "event": "\(delegate\|direct\)".*/\1 \2/p' |
    awk -v step="$2" '$1 < step { path = $2 } END { print path == "" ? "direct" : path }'
}

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
from_step = 1
to_step = 16'

for name in quiet slow cut; do
  for sizes in "1 4 1" "2 2 1"; do
    [ "$name" != quiet ] && [ "$sizes" = "2 2 1" ] && continue
    must_train 4 $name.toml run.name=$name${sizes// /} $(layout $sizes) $steps
    # Ranks that share cores: people are told so once, and of no stragglers; events.jsonl tells below.
    ! grep -q "times are not judged" out.log || ! grep -q "(straggler)\|is slow:" out.log || fail "stragglers of crowded ranks"
  done
done
for name in slow cut; do claim same runs/quiet141/metrics.jsonl runs/${name}141/metrics.jsonl; done
learns_as_on_cpu quiet141 4 quiet.toml $(layout 1 4 1) $steps
echo "ok losses are those of an undisturbed run"

[ "$(path_before slow141 13)" = delegate ] || fail "the slow link is not delegated after step 12"
measured=$(event slow141 '\(straggler\|delegate\)' | grep '"stages": \[1' | awk -F'"step": ' '$2 + 0 <= 12' | number_of measured_delay_ms)
# Told when it is twice what was told last: half of the 30 ms at least.
echo "$measured" | awk '$1 >= 15 { found = 1 } END { exit !found }' || fail "30 ms were measured as $measured"
echo "ok delegated within 3 iterations"

# The same fault with the fixed order over the direct link alone: 8 messages each way that hold the link 30 ms each.
must_train 4 slow.toml run.name=fixed $(layout 1 4 1) $steps pipeline.schedule=zero_bubble pipeline.p2p=direct
steps_s() {  # RUN FROM TO: the times of these steps
  sed -n 's/.*"step": \([0-9]*\),.*"seconds": *\([0-9.e-]*\).*/\1 \2/p' "runs/$1/metrics.jsonl" |
    awk -v from="$2" -v to="$3" '$1 >= from && $1 <= to { print $2 }'
}
median_s() { steps_s "$@" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
slow=$(median_s slow141 14 24) fixed=$(median_s fixed 14 24)
# Saved is a third of the 240 ms at least; what the passes themselves take on a busy machine is in both.
awk -v a="$slow" -v b="$fixed" 'BEGIN { exit !(a > 0 && b - a > 0.08) }' ||
  fail "steps of $slow s with the slow link delegated, of $fixed s without"
echo "ok a slow link costs less: $slow s a step, $fixed s over the direct path"
# Its messages are late for some ms all the time where ranks share cores, so it may stay delegated: emulated_test.sh, whose passes are
# long, shows that a link that heals goes back.
# While it is slow no step takes less than some 60 ms; a busy machine leaves one of 40 alone.
quickest_s() { steps_s "$@" | sort -g | head -n 1; }
faulty=$(quickest_s slow141 14 24) healed=$(quickest_s slow141 40 79)
awk -v a="$healed" -v b="$faulty" 'BEGIN { exit !(a > 0 && a < 0.7 * b) }' || fail "no step under $healed s after the fault, under $faulty s in it"
echo "ok fast again after the fault: the quickest step takes $healed s, $faulty s in it"

# The first step is not looked at: in the second one all links are direct still.
cut=$(event cut141 delegate | grep '"step": 1, .*"stages": \[1.*"reason": "direct path failed"') || fail "the cut link was not delegated after step 1"
before=$(echo "$cut" | number_of direct_messages) after=$(echo "$cut" | number_of delegated_messages)
# 8 microbatches, an activation and a gradient each. The end that is cut first has sent and received 8 messages, at least one
# of which, a gradient, answers another; it lacks the other 8.
[ "$before" -ge 2 ] && [ "$after" -ge 7 ] && [ $((before + after)) = 16 ] || fail "$before messages before the cut, $after after it"
# As said above, that it goes back is not for this machine to show; if it does, its path was built anew first.
back=$(event cut141 direct | grep '"stages": \[1' | head -n 1)
[ -z "$back" ] || [ "$(echo "$back" | number_of step)" -ge 16 ] || fail "the direct path was not built anew: $back"
for told in "$cut" ${back:+"$back"}; do
  for time in measured_delay measured_iteration predicted_iteration achieved_iteration; do
    [ -n "$(echo "$told" | number_of ${time}_ms)" ] || fail "no ${time}_ms in $told"
  done
done
[ "$(grep -c '"event": "start"' runs/cut141/events.jsonl)" = 1 ] || fail "the cut run was restarted"
echo "ok a path that is cut in mid-iteration ends nothing: $before messages went before, $after over delegates"

# What was decided after the step that ends a run (its updates diverge, steps 1 to 10 are skipped) is told as well.
! train 4 cut.toml run.name=failed $(layout 1 4 1) $steps optimizer.lr=1e30 optimizer.clip_grad=0 inject.0.from_step=10 || fail "a diverged run succeeded"
tail -n 1 runs/failed/events.jsonl | grep -q '"event": "end".*"reason": "failed".*"tracking_share"' || fail "no end of the failed run"
if [ "$(path_before failed 10)" = direct ]; then
  event failed delegate | grep -q '"step": 10, .*"reason": "direct path failed"' || { cat err.log runs/failed/events.jsonl >&2; fail "the last decision of a failed run is not told"; }
fi
echo "ok a failed run tells its last decision"

# Delegates alone, over sockets and over shared memory, are the same run too.
for transport in tcp shm; do
  must_train 4 quiet.toml run.name=$transport $(layout 1 4 1) $steps pipeline.p2p=delegated comm.transport=$transport
  claim same runs/quiet141/metrics.jsonl runs/$transport/metrics.jsonl
done
echo "ok delegated over tcp and shm"

# The same deck and layout give the same bits; stopped and resumed runs give those of an uninterrupted one.
source "$(dirname "$0")/common.sh"
deck=$golden/golden.toml
common="data.order=shuffled"

same_checkpoint() {  # A B MOMENTS
  checksums "$1" >a.txt
  checksums "$2" >b.txt
  [ "$(wc -l <a.txt)" = $(((1 + $3) * tensors)) ] || fail "$1: $(wc -l <a.txt) checksums of $tensors weights and $3 moments each"
  cmp a.txt b.txt || fail "$1 differs from $2: $(diff a.txt b.txt)"
}
tensors=52  # two embeddings, 4 blocks of 12, the last norm

for sizes in "2 2 2" "1 1 1"; do
  set -- $sizes
  ranks=$(ranks_of $sizes)
  for name in first second; do must_train $ranks $deck run.name=$name$1 $(layout $sizes) $common; done
  claim same runs/first$1/metrics.jsonl runs/second$1/metrics.jsonl
  same_checkpoint runs/first$1/checkpoints/step-000020.h5 runs/second$1/checkpoints/step-000020.h5 2
done
echo "ok two runs are equal"

# A rank's threads change no bit: neither of losses and norms, nor of weights and moments. On a GPU a rank has one.
threads_change_nothing() {
  local threads
  for threads in 2 3; do
    must_train 1 $deck run.name=threads$threads $common device.threads=$threads
    claim same runs/threads$threads/metrics.jsonl runs/first1/metrics.jsonl
    same_checkpoint runs/threads$threads/checkpoints/step-000020.h5 runs/first1/checkpoints/step-000020.h5 2
  done
  for threads in 1 2; do
    must_train 2 $deck run.name=pair$threads $(layout 2 1 1) $common device.threads=$threads model.compute_dtype=bf16
  done
  claim same runs/pair2/metrics.jsonl runs/pair1/metrics.jsonl
  same_checkpoint runs/pair2/checkpoints/step-000020.h5 runs/pair1/checkpoints/step-000020.h5 2
  echo "ok any number of threads gives the same bits"
}
if [ "${TENAX_DEVICE:-}" != cuda ]; then threads_change_nothing; fi

# SIGUSR1 at some step, then resumed. Many small steps, so that the signal lands in the middle.
long="run.train_steps=800 run.log_interval=400 optimizer.lr_decay_steps=800 $common"
must_train 2 $deck run.name=whole $(layout 1 2 1) $long checkpoint.interval=400
mpirun -n 2 "$TENAX" $deck run.name=stopped $(layout 1 2 1) $long >out.log 2>err.log </dev/null &
job=$!
for _ in $(seq 2400); do  # two minutes, on a busy machine
  [ -f runs/stopped/metrics.jsonl ] && [ "$(wc -l <runs/stopped/metrics.jsonl)" -gt 150 ] && break
  sleep 0.05
done
kill -USR1 $job
wait $job || fail "a signalled run ends with status $?"
grep -q '"reason": "signal"' runs/stopped/events.jsonl || fail "the end event has no reason signal"
[ "$(grep -c '"loss"' runs/stopped/metrics.jsonl)" -lt 800 ] || fail "the signal came too late to test anything"
must_train 2 $deck run.name=stopped $(layout 1 2 1) $long
claim steps runs/stopped/metrics.jsonl 800
claim same runs/stopped/metrics.jsonl runs/whole/metrics.jsonl
echo "ok stopped by a signal and resumed"

# SIGKILL after a checkpoint.
mpirun -n 2 "$TENAX" $deck run.name=killed $(layout 1 2 1) $long checkpoint.interval=200 >out.log 2>err.log </dev/null &
job=$!
for _ in $(seq 2400); do  # two minutes, on a busy machine
  ls runs/killed/checkpoints/step-*.h5 >/dev/null 2>&1 && break
  sleep 0.05
done
kill -KILL $job
wait $job 2>/dev/null && fail "a killed mpirun has status 0"
for _ in $(seq 2400); do pgrep -f "run.name=killed .*$common" >/dev/null || break; sleep 0.05; done  # its ranks die too
must_train 2 $deck run.name=killed $(layout 1 2 1) $long checkpoint.interval=200
grep -q '"event": "resume"' runs/killed/events.jsonl || fail "the killed run did not resume"
claim steps runs/killed/metrics.jsonl 800
claim same runs/killed/metrics.jsonl runs/whole/metrics.jsonl
echo "ok killed and resumed"

# A checkpoint of one layout continues in others.
must_train 8 $deck run.name=half $(layout 2 2 2) run.train_steps=10 optimizer.lr_decay_steps=20 $common
must_train 8 $deck run.name=reference $(layout 2 2 2) $common
for sizes in "1 1 1" "1 4 1" "2 1 1"; do
  set -- $sizes
  must_train "$(ranks_of $sizes)" $deck run.name=from$1$2$3 $(layout $sizes) $common \
    run.resume=$PWD/runs/half/checkpoints/step-000010.h5
  claim close runs/from$1$2$3/metrics.jsonl runs/reference/metrics.jsonl 1e-5
done
echo "ok a checkpoint continues in other layouts"

# Going back to an earlier checkpoint starts a branch: the later ones are kept aside and never resumed from.
must_train 1 $deck run.name=branch $common checkpoint.interval=5
must_train 1 $deck run.name=branch $common checkpoint.interval=5 run.resume=$PWD/runs/branch/checkpoints/step-000010.h5 \
  run.train_steps=12 optimizer.lr_decay_steps=20
grep -q "a checkpoint of later steps than the run goes on from is kept as .*/step-000020.h5.1" err.log ||
  fail "no word of the later checkpoint: $(cat err.log)"
must_train 1 $deck run.name=branch $common checkpoint.interval=5
claim steps runs/branch/metrics.jsonl 20
claim same runs/branch/metrics.jsonl runs/first1/metrics.jsonl
ls runs/branch/checkpoints/step-000020.h5.1 >/dev/null || fail "the later checkpoint was lost"

# A fresh run beside old checkpoints of another directory does not mistake them for its own.
must_train 1 $deck run.name=old $common checkpoint.dir=$PWD/shared run.train_steps=6
must_train 1 $deck run.name=old $common checkpoint.dir=$PWD/shared run.train_steps=3 run.resume=never
must_train 1 $deck run.name=old $common checkpoint.dir=$PWD/shared run.train_steps=8
claim steps runs/old/metrics.jsonl 8
echo "ok branches and fresh starts"

train 8 $deck run.name=first2 $(layout 2 2 2) $common || fail "calling a finished run again: status $?"
grep -q 'is finished' out.log || fail "a finished run does not say so"
echo "ok a finished run says so"

# Lion goes on to the last bit, with one moment; either optimizer goes on from the other's checkpoint.
lion="optimizer.kind=lion optimizer.adam_beta2=0.99 $common"
must_train 2 $deck run.name=lion $(layout 1 1 2) $lion
must_train 2 $deck run.name=lion-half $(layout 1 1 2) $lion run.train_steps=10 optimizer.lr_decay_steps=20
must_train 2 $deck run.name=lion-half $(layout 1 1 2) $lion optimizer.lr_decay_steps=20
claim same runs/lion-half/metrics.jsonl runs/lion/metrics.jsonl
same_checkpoint runs/lion-half/checkpoints/step-000020.h5 runs/lion/checkpoints/step-000020.h5 1
echo "ok lion, resumed"

goes_on_as() {  # KIND CHECKPOINT: ten steps more, whose warnings are in err.log
  must_train 2 $deck run.name=as-$1 $(layout 1 1 2) $common optimizer.kind=$1 run.resume=$PWD/runs/$2
  [ "$(grep -c '"loss"' runs/as-$1/metrics.jsonl)" = 10 ] || fail "as-$1 has not run its ten steps"
  grep -q "optimizer.kind was" err.log || fail "a change of the optimizer is not told: $(cat err.log)"
}
goes_on_as lion half/checkpoints/step-000010.h5
! grep -q "the checkpoint has no" err.log || fail "lion misses something: $(cat err.log)"
goes_on_as adamw lion-half/checkpoints/step-000010.h5
grep -q "resuming: the checkpoint has no exp_avg_sq; it starts at zero" err.log || fail "nothing is said of a missing moment"
echo "ok lion goes on from adamw and adamw from lion"

# The plan says what one moment less saves.
optimizer_bytes() { "$TENAX" plan $deck --json optimizer.kind=$1 | grep -o '"optimizer": *[0-9]*' | head -1 | grep -o '[0-9]*$'; }
[ "$(optimizer_bytes adamw)" = $((2 * $(optimizer_bytes lion))) ] || fail "the plan does not show half the optimizer's memory"
echo "ok lion plans less memory"

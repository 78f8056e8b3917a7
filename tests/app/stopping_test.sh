# Every way a run can end early: signal to a rank, time limit, kill, divergence, a disk that fills up; and what becomes of
# its directory.
source "$(dirname "$0")/common.sh"
deck=$golden/golden.toml
long="run.train_steps=100000 run.log_interval=1000 optimizer.lr_decay_steps=100000"

ended() { grep -q "\"event\": \"end\".*\"reason\": \"$2\"" "runs/$1/events.jsonl" || fail "$1 did not end by $2"; }
steps_done() { cat "runs/$1/metrics.jsonl" 2>/dev/null | grep -c '"loss"'; }
has_checkpoint() {
  [ -f "$(printf 'runs/%s/checkpoints/step-%06d.h5' "$1" "$(steps_done "$1")")" ] || fail "$1 left no checkpoint of its last step"
}

must_train 2 $deck run.name=late $(layout 2 1 1) $long run.max_minutes=0.02
ended late time_limit
has_checkpoint late
echo "ok time limit"

# A trace is worth less than the run. With a slash after its directory's name, as a shell completes it.
mkdir -p runs/traceless/trace.json
must_train 2 $deck run.output_dir=runs/traceless/ $(layout 2 1 1)
has_checkpoint traceless
grep -q "trace is left out: .*trace.json" err.log || fail "nothing is said of the trace: $(cat err.log)"
must_train 2 $deck run.output_dir=runs/traceless/ $(layout 2 1 1) run.resume=never
[ -d runs/traceless.1 ] && [ -s runs/traceless/trace.json ] || fail "the old run was not moved aside"
rm -r runs/traceless/checkpoints
"$TENAX" inspect runs/traceless.1 | grep -q "step-" || fail "a run that was moved has lost its checkpoints"
echo "ok a trace that cannot be written, and a run that is moved"

# in_background NAME override…: two ranks that train for ever; returns once they have done 50 steps.
in_background() {
  mpirun -n 2 "$TENAX" $deck run.name="$@" $(layout 1 1 2) $long >background.log 2>&1 </dev/null &
  job=$!
  trap "kill $job 2>/dev/null || true" EXIT  # a test that fails leaves no run behind
  for _ in $(seq 2400); do
    [ -f runs/$1/metrics.jsonl ] && [ "$(steps_done $1)" -gt 50 ] && return
    sleep 0.05
  done
  fail "$1 does not train"
}

# refused NAME override…: a second run in the first one's directory ends at once, says why once, and changes nothing.
refused() {
  local got=0
  OMPI_MCA_odls_base_sigkill_timeout=0 train 2 $deck run.name="$@" $(layout 2 1 1) || got=$?
  [ $got = 1 ] || fail "a second run in one directory has status $got"
  [ "$(grep -c "is in use by another run: process [0-9]* on $(uname -n), since" err.log)" = 1 ] || fail "not one message: $(cat err.log)"
  [ ! -e runs/$1.1 ] || fail "a running run was moved aside"
}

in_background terminated
refused terminated
refused terminated run.resume=never
refused other checkpoint.dir=runs/terminated/checkpoints
pkill -TERM -P $job -n  # one of the two ranks, as srun would
wait $job || fail "a rank asked to stop ends with status $?"
ended terminated signal
has_checkpoint terminated
[ ! -e runs/terminated/.lock ] || fail "the lock outlived its run"
echo "ok SIGTERM to one rank, and nobody else in its directory"

mpirun -n 2 "$TENAX" $deck run.name=killed $(layout 2 1 1) $long checkpoint.interval=10 >out.log 2>err.log </dev/null &
job=$!
for _ in $(seq 2400); do
  [ -f runs/killed/metrics.jsonl ] && [ "$(steps_done killed)" -gt 20 ] && break
  sleep 0.05
done
pkill -KILL -P $job -n
wait $job && fail "a killed run ends with status 0"
grep -q '"step":9}' runs/killed/trace.json || fail "the trace is not the tenth step's"
claim trace runs/killed/trace.json 0 "load data" optimizer vote "all_reduce tensor" "checkpoint snapshot"
must_train 2 $deck run.name=killed $(layout 2 1 1)
echo "ok kill, and another run takes the directory over"

# Ctrl-C is a SIGINT to mpirun, which has a status of its own and kills its ranks a while later: after a second, in which a busy machine
# may not come to the end of a write.
export OMPI_MCA_odls_base_sigkill_timeout=4
in_background gone checkpoint.interval_minutes=0.0005
unset OMPI_MCA_odls_base_sigkill_timeout
mv runs/gone runs/moved  # at once, where rm would race with who writes there
for _ in $(seq 2400); do [ "$(steps_done gone)" -gt 100 ] && break; sleep 0.05; done
kill -INT $job
wait $job && fail "mpirun has status 0 after Ctrl-C"
steps=$(steps_done gone)
newest=$PWD/runs/gone/checkpoints/step-$(printf %06d $steps).h5
[ "$(grep -c 'was removed, but this run writes there' background.log)" -ge 1 ] || fail "no word of a removed directory"
claim steps runs/gone/metrics.jsonl $steps
head -n 1 runs/gone/events.jsonl | grep -q '"event": "start"' || fail "events before the removal are lost"
[ "$(grep -c '"event": "checkpoint"' runs/gone/events.jsonl)" -ge 2 ] || fail "no checkpoints by time"
ended gone signal
[ "$(grep -c "^stopped .*; checkpoint: $newest; the same command goes on from there" background.log)" = 1 ] || fail "no word after Ctrl-C"
echo "ok directory removed in mid-run, checkpoints by time, Ctrl-C"

truncate -s 5000 $newest
must_train 2 $deck run.name=gone $(layout 1 1 2) $long run.train_steps=$((steps + 5))
grep -q "\"event\": \"resume\".*\"passed_over\": \[\"step-0*$steps.h5\"\]" runs/gone/events.jsonl || fail "no event of what was passed over"
[ "$(grep -c "passed over: $newest is truncated" err.log)" = 1 ] || fail "not one warning: $(cat err.log)"
grep -q "the checkpoint that is not complete is kept as $newest.1" err.log || fail "no word of where it is: $(cat err.log)"
claim steps runs/gone/metrics.jsonl $((steps + 5))
echo "ok the newest complete checkpoint is taken"

# A validation may take many times as long as a step: a stop waits for none. The next start has it; of the last one a warning is left.
# validates STEPS override…: two ranks in the background that are in a validation of hours after so many steps.
validates() {
  local steps=$1
  shift
  mpirun -n 2 "$TENAX" $deck $(layout 1 1 2) $long data.validation=$golden/tokens.bin run.eval_steps=10000000 "$@" >background.log 2>&1 </dev/null &
  job=$!
  trap "kill $job 2>/dev/null || true" EXIT
  for _ in $(seq 2400); do [ "$(steps_done validating)" = $steps ] && break; sleep 0.05; done
  sleep 1
  [ "$(steps_done validating)" = $steps ] || fail "no validation after $steps steps: $(cat background.log)"
}
validates 20 run.name=validating run.eval_interval=20
SECONDS=0
kill -USR1 $job
wait $job && [ $SECONDS -le 10 ] || fail "a stop in a validation: after $SECONDS s $(cat background.log)"
ended validating signal
[ "$(steps_done validating)" = 20 ] || fail "a step after the stop: $(steps_done validating)"
has_checkpoint validating
must_train 2 $deck run.name=validating $(layout 1 1 2) $long data.validation=$golden/tokens.bin run.eval_steps=1 run.eval_interval=20 run.train_steps=30
[ "$(grep -c '"step": 20, "validation_loss"' runs/validating/metrics.jsonl)" = 1 ] || fail "the next start has not validated"
validates 50 run.name=validating run.eval_interval=1000 run.train_steps=50
[ ! -e runs/validating/checkpoints/step-000050.h5 ] || fail "the last checkpoint came before a validation that nobody stopped"
SECONDS=0
kill -USR1 $job
wait $job && [ $SECONDS -le 10 ] || fail "a stop in the last validation: after $SECONDS s $(cat background.log)"
ended validating completed
has_checkpoint validating
[ "$(grep -c 'the validation after the last step was broken off' background.log)" = 1 ] || fail "no word of the last validation: $(cat background.log)"
trap - EXIT
echo "ok a stop in a validation, and in the last one"

got=0
train 2 $deck run.name=diverged $(layout 2 1 1) optimizer.lr=1e38 run.train_steps=100 optimizer.lr_decay_steps=100 || got=$?
[ $got = 1 ] || fail "a diverged run has status $got"
[ "$(grep -c '"event": "skip"' runs/diverged/events.jsonl)" = 10 ] || fail "not ten skips"
[ "$(grep -c 'diverged' err.log)" = 1 ] || fail "not one message: $(cat err.log)"
ended diverged failed
[ ! -e runs/diverged/checkpoints/step-000011.h5 ] || fail "a diverged run wrote a checkpoint"
echo "ok divergence"

[ "$(id -u)" = 0 ] && mkdir -p small && mount -t tmpfs -o size=40k tmpfs small 2>/dev/null ||
  skips "the full-disk part: no tmpfs can be mounted here"
trap 'umount small' EXIT
got=0
train 2 $deck run.name=full $(layout 2 1 1) $long run.output_dir=$PWD/small/run checkpoint.interval=-1 || got=$?
[ $got = 1 ] || fail "a run on a full disk has status $got"
[ "$(grep -c 'No space left' err.log)" = 1 ] || fail "not one message: $(cat err.log)"
tail -c 1 small/run/metrics.jsonl | od -An -c | grep -q '\\n' || fail "half a line is left in metrics.jsonl"
echo "ok full disk"

# A run that slow ranks cost more than a restart: it ends with a checkpoint, its hosts' names and status 3, and goes on from there as
# if nothing had been.
source "$(dirname "$0")/failslow.sh"
export TENAX_REQUEUE=1  # as inputs/slurm/requeue.sh says that there can be other hosts
run="slow.toml run.train_steps=110 model.hidden_size=64 model.seq_length=64 checkpoint.interval=0 mitigate.strategies=[]"
must_train 2 $run run.name=quiet
whole=runs/quiet/checkpoints/step-000110.h5

# The others wait for a rank that is slow for as long as the run has stood.
slow_rank() {
  local name=$1 status=0
  train 2 $run run.name=$name mitigate.restart=exit mitigate.restart_cost_s=0.3 inject.0.kind=slow_compute inject.0.rank=1 \
    inject.0.factor=4 inject.0.from_step=30 inject.0.to_step=70 || status=$?
  [ $status != 0 ] || return 1
  [ $status = 3 ] || fail "$name: status $status, not 3: $(cat err.log)"
  [ "$(cat runs/$name/exclude_hosts.txt)" = "$(uname -n)" ] || fail "$name: other hosts than this one are excluded"
  tail -n 1 runs/$name/events.jsonl | grep -q '"event": "end".*"reason": "restart"' || fail "$name: the last event is no end for a restart"
  stopped=$(grep -c '"loss"' runs/$name/metrics.jsonl)
  [ -e runs/$name/checkpoints/step-$(printf %06d $stopped).h5 ] || fail "$name: no checkpoint after $stopped steps"
  [ $stopped -lt 70 ] || return 1  # the fault was over
  blames $name 30 72 '"rank": 1,' && acts $name mitigate restart '"components": \[{' && paid $name
}
found slow_rank
must_train 2 $run run.name=$found
claim same runs/quiet/metrics.jsonl runs/$found/metrics.jsonl
checksums $whole >quiet.txt
checksums runs/$found/checkpoints/step-000110.h5 >resumed.txt
[ -s quiet.txt ] && cmp quiet.txt resumed.txt || fail "another state after the restart"
[ -e runs/$found/exclude_hosts.txt ] || fail "the hosts are forgotten"
echo "ok it goes on as if nothing had been"

# Without other hosts a restart is none of what can be done.
unset TENAX_REQUEUE
must_train 2 $run run.name=nowhere mitigate.restart=exit mitigate.restart_cost_s=0.3 inject.0.kind=slow_compute inject.0.rank=1 \
  inject.0.factor=4 inject.0.from_step=30
[ ! -e runs/nowhere/exclude_hosts.txt ] || fail "it excludes hosts where there are no others"
[ "$(grep -c 'mitigate.restart = "exit" does nothing here' err.log)" = 1 ] || fail "nobody is told that no restart comes: $(cat err.log)"
echo "ok without other hosts it goes on"

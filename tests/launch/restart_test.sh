#!/usr/bin/env bash
# A run on a slow host through app/run.sh and inputs/slurm/requeue.sh, on stand-ins for Slurm that start its ranks here: it ends, is
# started again without that host, within the allocation or by another job, and is complete in the end.
set -u
work=$PWD
fail() { echo "FAILED: $*"; cat "$work"/*.log "$work"/calls "$work"/*/events.jsonl; exit 1; }
head -c 100000 /dev/urandom | base64 >train.txt

# Nodes are names; sbatch starts a job of the nodes that it leaves.
mkdir -p bin
stand_in() { printf '#!/usr/bin/env bash\necho "%s $*" >>"%s"\n%s\n' "$1" "$work/calls" "$2" >bin/$1; chmod +x bin/$1; }
stand_in srun 'while [ "${1#-}" != "$1" ]; do [ "$1" != -n ] || { ranks=$2; shift; }; shift; done
exec mpirun -n "$ranks" "$@"'
stand_in sbatch 'while [ "${1#-}" != "$1" ]; do shift; done
SLURM_JOB_ID=8 SLURM_JOB_NODELIST=n2 SLURM_TASKS_PER_NODE=2 exec bash "$@"'
stand_in scontrol '[ "$1 $2" = "show hostnames" ] && tr , "\n" <<<"$3"'
stand_in squeue 'echo 12:00:00'

options=(run.train_steps=120 run.eval_interval=0 batch.global_batch_size=8 model.hidden_size=64 model.seq_length=64
         data.train="$work/train.txt" data.validation= parallel.tensor_parallel_size=1 parallel.pipeline_parallel_size=1
         parallel.data_parallel_size=2 mitigate.restart=exit mitigate.restart_cost_s=0.3 inject.0.kind=slow_compute
         inject.0.rank=1 inject.0.factor=4 inject.0.from_step=30 inject.0.to_step=80)
# slowed NAME NODE,… SCRIPT: sets `status`. Rank 1 is slow from step 30 to 80, whatever starts it.
slowed() {
  local count
  count=$(tr , '\n' <<<"$2" | grep -c .)
  rm -rf "$1" calls
  env -i PATH="$work/bin:$PATH" HOME="$HOME" SLURM_JOB_ID=7 SLURM_SUBMIT_DIR="$TENAX_SOURCE" SLURM_JOB_NODELIST="$2" \
    SLURM_JOB_NUM_NODES="$count" SLURM_TASKS_PER_NODE="2(x$count)" bash "$TENAX_SOURCE/$3" "$TENAX_SOURCE/inputs/quickstart.toml" \
    run.output_dir="$work/$1" "${options[@]}" >"$1.log" 2>&1
  status=$?
}
# restarted NAME: three tries, as a machine with other guests may hide a fault.
restarted() {
  local try
  for try in 1 2 3; do
    slowed "$@"
    [ $status = 0 ] || fail "$1: status $status"
    ! grep -q '"reason": "restart"' "$1/events.jsonl" || return 0
  done
  fail "$1 was never slow enough"
}
events_of() { sed -n 's/.*"event": "\(start\|resume\|end\)"\(.*"reason": "\([a-z]*\)"\)\?.*/\1 \3/p' "$1/events.jsonl" | tr '\n' ','; }
completed_after_restart() {
  [ "$(events_of "$1")" = "start ,end restart,resume ,end completed," ] || fail "$1: $(events_of "$1")"
  [ "$(grep -c '"loss"' "$1/metrics.jsonl")" = 120 ] || fail "$1 did not take each of 120 steps once"
}
host=$(uname -n)
host=${host%%.*}

restarted within "$host,n2" app/run.sh
completed_after_restart within
[ "$(grep -c '^srun' calls)" = 2 ] && grep '^srun' calls | sed -n 2p | grep -q -- "--exclude=$host " || fail "the second start leaves this host out"
echo "ok within an allocation"

restarted beyond "$host" inputs/slurm/requeue.sh
completed_after_restart beyond
grep -q "^sbatch .*--exclude=$host " calls || fail "the second job leaves this host out"
echo "ok by another job"

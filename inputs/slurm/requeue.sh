#!/bin/bash
# Trains a deck for longer than one job may last. Two minutes before the time limit the ranks get SIGUSR1, write a
# checkpoint and end; the job then goes back into the queue and continues from there, until the run is complete.
#
#   sbatch inputs/slurm/requeue.sh [DECK [section.key=value …]]
#
# A run that ends to be started again without its slow hosts (mitigate.restart = "exit") is submitted anew, without them.
#
# After the failure of a node Slurm itself puts the job back (--requeue), which then continues from the newest
# checkpoint, at most 30 minutes old unless checkpoint.interval says otherwise. run.resume must stay "auto".
#SBATCH --job-name=tenax
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
#SBATCH --signal=USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=tenax-%j.out
[ $# -gt 0 ] || set -- inputs/quickstart.toml
export TENAX_REQUEUE=1  # so ranks know that there can be other hosts
bash "$SLURM_SUBMIT_DIR/app/run.sh" "$@"
status=$?
run_directory=$("$SLURM_SUBMIT_DIR/build/tenax" plan "$@" --ranks | sed -n 2p)
if [ $status = 0 ] && tail -n 1 "$run_directory/events.jsonl" | grep -q '"reason": "signal"'; then
  scontrol requeue "$SLURM_JOB_ID"
fi
if [ $status = 3 ]; then
  again=(--dependency=afterany:"$SLURM_JOB_ID" --exclude="$(sed 's/\..*//' "$run_directory/exclude_hosts.txt" | sort -u | paste -sd,)"
         --time="$(squeue -h -j "$SLURM_JOB_ID" -o %l)")
  for option in nodes:SLURM_JOB_NUM_NODES ntasks-per-node:SLURM_NTASKS_PER_NODE cpus-per-task:SLURM_CPUS_PER_TASK \
      gpus-per-node:SLURM_GPUS_PER_NODE gpus-per-task:SLURM_GPUS_PER_TASK mem:SLURM_MEM_PER_NODE \
      mem-per-cpu:SLURM_MEM_PER_CPU partition:SLURM_JOB_PARTITION account:SLURM_JOB_ACCOUNT qos:SLURM_JOB_QOS \
      reservation:SLURM_JOB_RESERVATION job-name:SLURM_JOB_NAME; do
    value=${option#*:}
    [ -z "${!value:-}" ] || again+=("--${option%%:*}=${!value}")
  done
  sbatch "${again[@]}" "$0" "$@" run.resume=auto && status=0
fi
exit $status

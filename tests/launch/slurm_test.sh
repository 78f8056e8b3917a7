#!/usr/bin/env bash
# The batch scripts of inputs/slurm with the quickstart deck in small, on a Slurm of two nodes: once straight through, and
# once stopped by the signal that Slurm sends before the time limit and requeued. Both give the same losses.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/slurm_cluster.sh"
missing=$(slurm_lacks)
[ -z "$missing" ] || { echo "skipped: no Slurm here, which lacks" $missing "(Debian: slurmctld slurmd slurm-client munge)"; exit 77; }

work=$PWD
directory=$(mktemp -d /tmp/tenax-slurm.XXXXXX)  # short: paths of sockets are
trap 'stop_slurm; rm -rf "$directory"' EXIT
trap 'exit 1' TERM INT HUP

fail() {
  echo "FAILED: $*"
  grep -hE '^srun:|slurmstepd|Segmentation' "$work"/replicas/replica-*/log 2>/dev/null | tail -n 30
  tail -n 30 "$work"/*.out "$directory"/*.out
  scontrol show jobs 2>/dev/null
  exit 1
}

# A srun that notes how it was called, and says so on stderr. Where the file `crash` is there, the first rank of the next replica that
# starts dies while the others wait for it in MPI_Init; `crash_run` is the same for a run without replicas, whose
# ranks are not started at all then.
mkdir "$directory/bin"
cat >"$directory/bin/srun" <<END
#!/bin/bash
echo "\$@" >>"$work/srun.calls"
echo "srun is called" >&2
words=("\$@")
if [ -e "$work/crash" ] && [[ "\$*" == *--join* ]]; then
  rm "$work/crash"
  for i in "\${!words[@]}"; do
    [[ "\${words[i]}" != mkdir* ]] || words[i]='[ \$SLURM_PROCID != 0 ] || { sleep 1; kill -SEGV \$\$; }; '"\${words[i]}"
  done
fi
if [ -e "$work/crash_run" ] && [[ "\$*" == *-n\ 4* ]]; then
  rm "$work/crash_run"
  words=(--mpi=none --kill-on-bad-exit=1 -n 4 bash -c '[ \$SLURM_PROCID != 0 ] || { sleep 1; kill -SEGV \$\$; }; trap "exit 1" TERM; sleep 60 & wait')
fi
exec "$(command -v srun)" "\${words[@]}"
END
chmod +x "$directory/bin/srun"
PATH=$directory/bin:$PATH

# Two nodes on one host: Open MPI must not take ranks of the other node for neighbours in shared memory.
export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo
start_slurm "$directory" || fail "Slurm does not start"

steps=150 deck=inputs/quickstart.toml
submit() {  # SCRIPT NAME [section.key=value …]: prints the job's number
  (cd "$TENAX_SOURCE" && sbatch --parsable --time=10 --output="$work/$2.out" "inputs/slurm/$1" "$deck" \
    run.output_dir="$work/$2" run.train_steps=$steps optimizer.lr_decay_steps=$steps run.eval_interval=0 \
    batch.global_batch_size=4 batch.micro_batch_size=2 "${@:3}")
}
job_has() { timeout 10 scontrol show job "$1" | tr ' ' '\n' | grep -qx "$2"; }
job_ended() { timeout 10 scontrol show job "$1" | grep -qE 'JobState=(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL)'; }
trained() { [ "$(cat "$work/$1/metrics.jsonl" 2>/dev/null | grep -c '"loss"')" -ge "$2" ]; }
has_event() { grep -q "\"event\": \"$2\".*${3:-}" "$work/$1/events.jsonl" || fail "$1: no event $2 ${3:-}"; }

quiet=$(submit several-nodes.sh quiet) || fail "sbatch several-nodes.sh"
within 200 job_ended "$quiet" || fail "the uninterrupted job does not end"
job_has "$quiet" JobState=COMPLETED && job_has "$quiet" NumNodes=2 || fail "the uninterrupted job completes on two nodes"
grep -q -e '--mpi=pmix -n 4' "$work/srun.calls" || fail "app/run.sh starts four ranks by srun"
"$RUN_CHECK" steps "$work/quiet/metrics.jsonl" $steps || fail "the uninterrupted job"
# Four ranks on fewer cores are late without any fault of their links, which are held on delegates ever longer for it.
switches=$(grep -c '"event": "delegate"' "$work/quiet/events.jsonl")
[ "$switches" -le 10 ] || fail "the link went over delegates $switches times"

stopped=$(submit requeue.sh stopped) || fail "sbatch requeue.sh"
within 100 trained stopped 5 || fail "the second job does not train"
touch crash_run  # of the requeued job
scancel --signal=USR1 "$stopped" || fail "scancel"  # what --signal does: to the ranks, not to the script
within 250 job_ended "$stopped" || fail "the requeued job does not end"
job_has "$stopped" JobState=COMPLETED && job_has "$stopped" Restarts=1 || fail "the job is requeued once and completes"
has_event stopped end '"reason": "signal"'
has_event stopped resume
has_event stopped end '"reason": "completed"'
for line in "2 run directory: $work/stopped" "3 srun is called" "1 run.sh: a rank crashed before the run began: it is started again"; do
  [ "$(grep -cxF "${line#* }" "$work/stopped.out")" -ge "${line%% *}" ] || fail "the log of both jobs does not have so often: $line"
done
"$RUN_CHECK" same "$work/quiet/metrics.jsonl" "$work/stopped/metrics.jsonl" || fail "losses after requeueing"
# Two replicas, each a job step over both nodes. A rank hangs while its heart beats: the recorders are read by a step beside those that
# stand, and it is named first. Then a rank dies, comes back, and all stop by the signal before the time limit.
rank_of() { pgrep -n -f -- "^[^ ]*tenax --join $work/replicas/replica-$1/join" || true; }
joins() { grep -c '"reason": "join"' "$work/replicas/ledger.jsonl"; }
joined_since() { [ "$(joins)" -gt "$1" ]; }
hung() { grep -q '"event": "hang".*"culprits": \[{"replica": 0, "rank": 1,' "$work/replicas/events.jsonl"; }
deck=$work/hang.toml
{ sed "s|\"../build|\"$TENAX_SOURCE/build|" "$TENAX_SOURCE/inputs/quickstart.toml"; printf '[[inject]]\nkind = "hang"\nfrom_step = 12\nreplica = 0\nrank = 1\nwhere = "pass"\n'; } >"$deck"
replicas=$(submit replicas.sh replicas parallel.replicas=2 parallel.tensor_parallel_size=1 parallel.pipeline_parallel_size=2 \
  parallel.data_parallel_size=1 run.train_steps=100000) || fail "sbatch replicas.sh"
within 100 trained replicas 5 || fail "the replicas do not train"
before=$(joins)
within 100 hung || fail "no event names the rank that hangs"
within 100 joined_since "$before" || fail "the replica that hung does not come back"
grep -q -e '--overlap --mpi=none' "$work/srun.calls" || fail "recorders are read by srun"
before=$(joins)
touch crash
kill -KILL "$(rank_of 1)" || fail "no rank of replica 1"
within 50 joined_since "$before" || fail "the replica that died does not come back before Slurm kills what is left of it"
scancel --signal=USR1 "$replicas" || fail "scancel"
within 100 job_ended "$replicas" || fail "the replicas do not end"
job_has "$replicas" JobState=COMPLETED || fail "the replicas' job completes"
grep -q 'Segmentation fault' replicas/replica-1/log || fail "no rank died in its start"
has_event replicas replica_lost
has_event replicas end '"reason": "signal"'
grep -q -e '--exact --mpi=pmix' "$work/srun.calls" || fail "tenax launch starts replicas by srun"
"$TENAX_SOURCE/build/tenax" audit "$work/replicas" || fail "the audit"

echo "ok: $steps steps, the same through a requeue after $(grep -c . "$work/srun.calls") calls of srun; $switches times over delegates"

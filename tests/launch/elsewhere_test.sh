#!/usr/bin/env bash
# Restarts without slow hosts, with stand-ins for Slurm: app/run.sh within an allocation, inputs/slurm/requeue.sh beyond.
set -u
directory=$PWD/run
fail() { echo "FAILED: $*"; cat log calls; exit 1; }

# The first call of srun ends as a run does that wants to be elsewhere than on n2; later ones end well.
mkdir -p bin
stand_in() { printf '#!/usr/bin/env bash\necho "%s $*" >>"%s"\n%s\n' "$1" "$PWD/calls" "$2" >bin/$1; chmod +x bin/$1; }
stand_in srun "[ ! -e '$directory/exclude_hosts.txt' ] || exit 0; mkdir -p '$directory'; echo n2.cluster >'$directory/exclude_hosts.txt'; exit 3"
stand_in sbatch 'exit 0'
stand_in scontrol '[ "$1 $2" = "show hostnames" ] && tr , "\n" <<<"$3"'
stand_in squeue 'echo 12:00:00'

# in_allocation HOSTS TASKS COMMAND …: sets `status`
in_allocation() {
  rm -rf "$directory" calls
  env -i PATH="$PWD/bin:$PATH" HOME="$HOME" SLURM_JOB_ID=7 SLURM_SUBMIT_DIR="$TENAX_SOURCE" SLURM_JOB_NODELIST="$1" \
    SLURM_TASKS_PER_NODE="$2" SLURM_JOB_NUM_NODES=2 SLURM_NTASKS_PER_NODE=2 \
    SLURM_CPUS_PER_TASK=3 SLURM_MEM_PER_NODE=4096 SLURM_JOB_QOS=long bash "${@:3}" "$TENAX_SOURCE/inputs/quickstart.toml" \
    run.output_dir="$directory" run.resume=never >log 2>&1
  status=$?
}
calls_of() { grep "^$1 " calls; }
run_script=$TENAX_SOURCE/app/run.sh

in_allocation n1,n2,n3 '2(x3)' "$run_script"
[ $status = 0 ] || fail "status $status of a run that was started again"
[ "$(calls_of srun | grep -c .)" = 2 ] || fail "srun is called twice"
calls_of srun | sed -n 1p | grep -q -- '--exclude' && fail "the first start leaves nobody out"
calls_of srun | sed -n 2p | grep -q -- '-n 4 --exclude=n2 --nodes=1-2 .*run.resume=never run.resume=auto$' ||
  fail "the second start leaves n2 out and goes on"

in_allocation n1,n2,n3 '2(x3)' -c 'exec bash "$0" "$@" device.threads=3' "$run_script"
calls_of srun | sed -n 1p | grep -q -- '-n 4 --cpus-per-task=3 ' || fail "srun gives each rank the cores of its threads"

in_allocation n1,n2 '2(x2)' "$run_script"
[ $status = 3 ] || fail "status $status, not 3, without another host"
[ "$(calls_of srun | grep -c .)" = 1 ] || fail "srun is called once"

in_allocation n1,n2,n3 '2,1(x2)' "$run_script"
[ $status = 3 ] || fail "status $status, not 3, where the others have too few tasks"

in_allocation n1,n2 '2(x2)' "$TENAX_SOURCE/inputs/slurm/requeue.sh"
[ $status = 0 ] || fail "status $status of a job that was submitted again"
calls_of sbatch | grep -q -- '--exclude=n2 --time=12:00:00 --nodes=2 --ntasks-per-node=2 --cpus-per-task=3 --mem=4096 --qos=long .*requeue.sh .*quickstart.toml .*run.resume=auto$' ||
  fail "the job is submitted again as it was, without n2"

echo "ok: started again within an allocation, and by another job"

#!/usr/bin/env bash
# Four replicas of two ranks under tenax launch, and every few seconds a blow to one of them: KILL or STOP to a rank, KILL to
# an mpirun, to ranks of two replicas at once, or to the supervisor, which is started again at once. The deck adds partitions, of
# replicas from each other and from the service. The last replica is spared, unless LAST=1: then only the audit must be clean.
# Else the run must also go on without a break, and learn what an undisturbed run learns.
#
#   [LAST=1] [PLACE=hosts|slurm] bash tests/soak/blows.sh [MINUTES=10] [SEED=1] [SECONDS_BETWEEN=3] [section.key=value …]
#
# PLACE: on two hosts, which a stub of a remote shell plays, or in an allocation of a Slurm of two nodes on this machine.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/replicas.sh"
minutes=${1:-10} between=${3:-3}
RANDOM=${2:-1}
shift $(($# < 3 ? $# : 3))
last_too=${LAST:-0}
percent=0.5  # that validation may be off
# Steps that lack a lost replica's samples are other steps, and learn from fewer tokens: the quiet run then trains on as many tokens as
# the struck one was given. They are compared at their ends, where the learning rate is small (at a constant one the validations of one
# run are 4 % apart), and only worse is wrong: steps of fewer samples learn more from each.
planned_steps=0 global_batch=8
# Steps of 1024 tokens there: of the soak's 256, five eighths of a step (and the learning rate as `none` or `sqrt` have it) cost 1 % by
# themselves, without any failure.
case "$*" in *batch=shrink*) percent=1 planned_steps=$((minutes * 1500)) global_batch=32 ;; esac
enter_work blows
sed -i "s/^global_batch_size *=.*/global_batch_size = $global_batch/" soak.toml
run=blows
place=()
case ${PLACE:-} in
  hosts)
    printf '#!/bin/sh\nshift\nexec sh -c "$1"\n' >shell
    chmod +x shell
    place=('replicas.hosts=["red:4","blue:4"]' replicas.remote_shell="$work/shell")
    ;;
  slurm)
    source "$TENAX_SOURCE/tests/launch/slurm_cluster.sh"
    [ -z "$(slurm_lacks)" ] || die "no Slurm here, which lacks" $(slurm_lacks)
    export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo
    cluster=$(mktemp -d /tmp/tenax-slurm.XXXXXX)
    trap 'stop_slurm; rm -rf "$cluster"' EXIT
    cpus_of_node=4 start_slurm "$cluster" || die "Slurm does not start"
    SLURM_JOB_ID=$(sbatch --parsable --nodes=2 --ntasks=8 --output="$work/sbatch.out" --wrap 'sleep 100000') || die "sbatch"
    export SLURM_JOB_ID SLURM_JOB_NUM_NODES=2
    within 60 sh -c "squeue -h -j $SLURM_JOB_ID -o %T | grep -qx RUNNING" || die "the allocation does not start"
    ;;
esac
# Something to learn: this repository's text, by bytes. On random tokens two undisturbed runs of one and two ranks part at the
# 400th step and are 0.2 % apart after 4000; on text they stay within 0.001 %.
find "$TENAX_SOURCE" -path "$TENAX_SOURCE/build" -prune -o \( -name '*.cpp' -o -name '*.hpp' \) -print | sort | xargs cat |
  perl -0777 -ne 'print pack("v*", unpack("C*"))' >tokens.bin
# Some between two replicas, some between one and the service, from the sixtieth step on: as many as of another kind of blow.
partitions() {
  local step=60 from
  for _ in $(seq $((minutes * 12))); do
    step=$((step + RANDOM % 600 + 1)) from=$((RANDOM % replicas))
    printf '\n[[inject]]\nkind = "partition"\nfrom_step = %d\nseconds = %d\n' $step $((RANDOM % 3 + 1))
    if ((RANDOM % 2)); then
      printf 'replicas = [%d, %d]\n' $from $(((from + 1 + RANDOM % (replicas - 1)) % replicas))
    else
      printf 'replica = %d\nservice = true\n' $from
    fi
  done
}
cp soak.toml quiet.toml
partitions >>soak.toml
overrides=(parallel.replicas=$replicas parallel.pipeline_parallel_size=2 optimizer.adam_eps=1e-4 run.train_steps=1000000
  model.vocab_size=256
  optimizer.lr_schedule=constant run.eval_interval=1000 checkpoint.interval=200 run.log_interval=100 "$@")
[ $planned_steps = 0 ] || overrides+=(run.train_steps=$planned_steps run.eval_interval=$planned_steps run.eval_steps=100 optimizer.lr_schedule=cosine)
alone=("${overrides[@]}")
overrides+=("${place[@]}")

# strike REPLICA SIGNAL
strike() {
  local rank
  rank=$(ranks_of_replica "$1" | pick)
  [ -n "$rank" ] && kill "-$2" "$rank" 2>/dev/null
}

blow() {
  local alive victim
  alive=$(($(holders | wc -l) + last_too)) victim=$(holders | pick)
  case $((RANDOM % 6)) in
    0 | 1) [ "$alive" -ge 2 ] && strike "$victim" KILL && tally "KILL of a rank" ;;
    2) [ "$alive" -ge 2 ] && strike "$victim" STOP && tally "STOP of a rank" ;;
    3) [ "$alive" -ge 2 ] && kill -KILL $(mpirun_of_replica "$victim") 2>/dev/null && tally "KILL of an mpirun" ;;
    4) [ "$alive" -ge 3 ] && for victim in $(holders | shuf -n 2 --random-source=<(yes $RANDOM)); do strike "$victim" KILL; done &&
      tally "KILL in two replicas" ;;
    5) kill -KILL $supervisor 2>/dev/null && wait $supervisor 2>/dev/null; supervise; tally "KILL of the supervisor" ;;
  esac
}

# equal_steps: how many whole steps the samples make that the run was given.
equal_steps() {
  "$TENAX" audit runs/blows --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["samples"] // int(sys.argv[1]))' \
    "$(sed -n 's/^global_batch_size *= *//p' quiet.toml)"
}

tally() {
  tallies[$1]=$((${tallies[$1]:-0} + 1))
  echo "$EPOCHREALTIME $1" >>blows.times
}

supervise
await_commits 60  # the first steps are compared with a quiet run
size() { stat -c %s runs/blows/ledger.jsonl; }
begin=$SECONDS end=$((SECONDS + minutes * 60)) last=$(size) seen=$SECONDS
while [ $SECONDS -lt $end ]; do
  blow
  next=$((SECONDS + between))
  while [ $SECONDS -lt $next ]; do
    now=$(size)
    [ "$now" = "$last" ] || { last=$now seen=$SECONDS; }
    [ $((SECONDS - seen)) -lt 60 ] || { failed "no commit for 60 s"; end=0; break; }
    sleep 0.2
  done
  kill -0 $supervisor 2>/dev/null || break
done
minutes=$(((SECONDS - begin + 30) / 60))  # a run of planned steps may end first
[ $planned_steps -gt 0 ] || kill -USR1 $supervisor
end_run
unset "${!SLURM_JOB@}"
echo "$(commits) commits, $(epochs) epochs, $(of_ledger void_from) void lines"
echo "$(ls runs/blows/replica-*/inject-*.rank-0 2>/dev/null | sed 's/.*inject-//' | sort -u | wc -l) partitions"
[ $last_too = 0 ] || finish "$minutes minutes of blows, the last replica not spared"
# As far as both ran: to the last validation, at most the tenth.
steps=$(($(commits) / 1000 * 1000))
[ $steps -le 10000 ] || steps=10000
[ $steps -ge 1000 ] || steps=50
if [ $planned_steps -gt 0 ]; then
  steps=$(equal_steps)
  alone+=(run.eval_interval=$steps)
fi
train_limit_s=3600 must_train 2 quiet.toml run.name=quiet "${alone[@]}" parallel.replicas=1 run.train_steps=$steps
python3 - $steps $percent $planned_steps <<'PYTHON' || failed "it learnt something else than the quiet run, or stood too long"
import glob, json, os, re, sys
# Without a commit: 3 s and a step of the replicas left apart. While one blow is being answered the next may come.
LONGEST_S, LONGEST_OF_SEVERAL_S = 3.1, 4.5
LONGEST_PARTITION_S = 3
steps, percent, planned = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
def metrics(name): return [json.loads(line) for line in open(f"runs/{name}/metrics.jsonl")]
def losses(name): return [line["loss"] for line in metrics(name) if "loss" in line][:50]
def validated(name, step): return [line["validation_loss"] for line in metrics(name) if "validation_loss" in line and line["step"] == step]

def blows():
    """When each began and ended, and what it was."""
    for line in open("blows.times"):
        time, what = line.rstrip("\n").split(" ", 1)
        yield float(time), float(time), what
    begins = {}
    for file in glob.glob("runs/blows/replica-*/inject-*.rank-*"):
        entry = re.search(r"inject-(\d+)", file)[1]
        begins[entry] = min(begins.get(entry, 1e18), os.stat(file).st_mtime)
    for entry, begin in begins.items():
        yield begin, begin + LONGEST_PARTITION_S, "partition"

commits = [json.loads(line) for line in open("runs/blows/ledger.jsonl") if '"squares"' in line]
blows, stood_too_long = sorted(blows()), False
gaps = sorted(((b["time"] - a["time"], a["time"], a["step"]) for a, b in zip(commits, commits[1:])), reverse=True)
for gap, since, step in gaps[:5]:
    # What began shortly before the first step that did not come, or before the next that did.
    within = [what for begin, end, what in blows if begin < since + gap and end > since - 0.5]
    print(f"{gap:.2f} s without a commit after step {step}: {', '.join(within) or 'no blow'}")
    stood_too_long |= gap > (LONGEST_OF_SEVERAL_S if len(within) > 1 else LONGEST_S)
worst = max(abs(a - b) for a, b in zip(losses("blows"), losses("quiet")))
print(f"losses of the first 50 steps: at most {worst:.2g} off")
if steps < 1000: raise SystemExit(worst > 1e-5 or stood_too_long)
(ours,), (quiet,) = validated("blows", planned or steps), validated("quiet", steps)
off = 100 * (ours - quiet) / quiet
print(f"validation after {planned or steps} steps: {ours:.5f}, quiet after {steps}: {quiet:.5f}: {off:+.3f} %")
raise SystemExit(worst > 1e-5 or (off if planned else abs(off)) > percent or stood_too_long)
PYTHON
finish "$minutes minutes of blows"

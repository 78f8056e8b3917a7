#!/bin/bash
# Trains a deck with parallel.replicas > 1, each replica a job step of its own: the loss of a node takes down the replicas on it,
# and the others train on. Two minutes before the time limit all stop at one step with one checkpoint.
#
#   sbatch --nodes=4 inputs/slurm/replicas.sh DECK [section.key=value …]
#
# --no-kill keeps the allocation when a node is lost. Slurm itself leaves it out of later steps once it counts as down, after minutes;
# where replicas.hosts names the nodes ("NAME:TASKS", some of them spare) a node on which replicas died twice is left out at once, and
# replicas.warm_spares wait on the others. The supervisor runs on the first node; where that is lost, submit again:
# the run goes on from its newest checkpoint.
#SBATCH --job-name=tenax
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
#SBATCH --signal=USR1@120
#SBATCH --no-kill
#SBATCH --open-mode=append
#SBATCH --output=tenax-%j.out
[ $# -gt 0 ] || set -- inputs/quickstart.toml parallel.replicas=2
exec bash "$SLURM_SUBMIT_DIR/app/run.sh" "$@"

#!/bin/bash
# Trains a deck on one node. From the clone (see README.md beside this file):
#
#   sbatch inputs/slurm/one-node.sh [DECK [section.key=value …]]
#
#SBATCH --job-name=tenax
#SBATCH --nodes=1
#SBATCH --ntasks=4
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
#SBATCH --output=tenax-%j.out
[ $# -gt 0 ] || set -- inputs/quickstart.toml
exec bash "$SLURM_SUBMIT_DIR/app/run.sh" "$@"

#!/bin/bash
# Trains a deck on several nodes. From the clone, which every node must see under the same path:
#
#   sbatch inputs/slurm/several-nodes.sh [DECK [section.key=value …]]
#
# Ranks are numbered along the nodes, tensor groups first: tasks of a node should be a multiple of tensor_parallel_size.
#SBATCH --job-name=tenax
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
#SBATCH --output=tenax-%j.out
[ $# -gt 0 ] || set -- inputs/quickstart.toml
exec bash "$SLURM_SUBMIT_DIR/app/run.sh" "$@"

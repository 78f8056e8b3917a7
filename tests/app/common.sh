# Verbs of the whole-run tests. TENAX, TENAX_SOURCE and RUN_CHECK come from ctest; the working directory is empty. Where
# TENAX is the program on the stand-in, TENAX_DEVICE says so and TENAX_ON_CPU is the one on the CPU.
set -eu
unset "${!SLURM_@}" "${!SBATCH_@}" "${!SRUN_@}"  # as in tests/run.sh, for a ctest in a job
golden=$TENAX_SOURCE/tests/golden

fail() { echo "FAILED: $*" >&2; exit 1; }
claim() { "$RUN_CHECK" "$@" || fail "$*"; }

# train RANKS DECK override…: mpirun without noise of its own; output goes to out.log and err.log. Ends after $train_limit_s (240).
train() {
  local ranks=$1 deck=$2 status=0
  shift 2
  timeout ${train_limit_s:-240} mpirun -n "$ranks" "$TENAX" "$deck" ${TENAX_DEVICE:+device.kind=$TENAX_DEVICE} "$@" >out.log 2>err.log \
    </dev/null || status=$?
  return $status
}

# For tests whose runs fail: mpirun would leave the other ranks, or none, a second or two after one has ended with a status. What is
# to be said has been said by then.
hasten_failures() { export OMPI_MCA_odls_base_sigkill_timeout=0; }

# layout TENSOR PIPELINE DATA: the overrides; `ranks_of` their product.
layout() { echo "parallel.tensor_parallel_size=$1 parallel.pipeline_parallel_size=$2 parallel.data_parallel_size=$3"; }
ranks_of() { echo $(($1 * $2 * $3)); }

# "Bitwise equal": the checksums of all tensors are.
checksums() {  # CHECKPOINT: NAME CHECKSUM, a line a tensor
  h5dump -A "$1" | awk '/DATASET "/ { name = $2 } /ATTRIBUTE "checksum"/ { wanted = 1 } wanted && /\(0\):/ { print name, $2; wanted = 0 }'
}

# skips REASON: the part that has not run makes the whole test a skipped one.
skips() { echo "skipped: $*"; exit 77; }

# On the stand-in: learns_as_on_cpu NAME RANKS DECK override…: the same run on the CPU has the same losses and norms as runs/NAME,
# to the last bit.
learns_as_on_cpu() {
  [ -n "${TENAX_ON_CPU:-}" ] || return 0
  local name=$1 ranks=$2
  shift 2
  TENAX=$TENAX_ON_CPU TENAX_DEVICE=cpu must_train "$ranks" "$@" run.name="$name-on-cpu"
  claim same "runs/$name-on-cpu/metrics.jsonl" "runs/$name/metrics.jsonl"
  echo "ok $name is that of the CPU, bit for bit"
}

must_train() {
  local status=0
  train "$@" || status=$?
  [ $status = 0 ] || { cat out.log err.log >&2; fail "train $*: status $status"; }
}

# Verbs of the whole-run tests. TENAX, TENAX_SOURCE and RUN_CHECK come from ctest; the working directory is empty.
set -eu
golden=$TENAX_SOURCE/tests/golden

fail() { echo "FAILED: $*" >&2; exit 1; }
claim() { "$RUN_CHECK" "$@" || fail "$*"; }

# train RANKS DECK override…: mpirun without noise of its own; output goes to out.log and err.log.
train() {
  local ranks=$1 status=0
  shift
  timeout 240 mpirun -q -n "$ranks" "$TENAX" "$@" >out.log 2>err.log </dev/null || status=$?
  return $status
}

# layout TENSOR PIPELINE DATA: the overrides; `ranks_of` their product.
layout() { echo "parallel.tensor_parallel_size=$1 parallel.pipeline_parallel_size=$2 parallel.data_parallel_size=$3"; }
ranks_of() { echo $(($1 * $2 * $3)); }

must_train() {
  local status=0
  train "$@" || status=$?
  [ $status = 0 ] || { cat out.log err.log >&2; fail "train $*: status $status"; }
}

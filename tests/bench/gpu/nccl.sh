# The golden run over NCCL. Sourced by gpu.sh.

do_nccl() {
  local failed=0 one_f_one_b="parallel.pipeline_parallel_size=2 pipeline.schedule=1f1b"
  part nccl-alone golden_run alone 1 || return 1
  is_done nccl-alone || return 0
  part nccl-tensor over_nccl tensor parallel.tensor_parallel_size=2 || failed=1
  part nccl-data over_nccl data parallel.data_parallel_size=2 || failed=1
  # shellcheck disable=SC2086  # words
  part nccl-pipeline-direct over_nccl pipeline-direct $one_f_one_b pipeline.p2p=direct || failed=1
  # shellcheck disable=SC2086
  part nccl-pipeline-auto over_nccl pipeline-auto $one_f_one_b || failed=1
  part nccl-pipeline-adaptive over_nccl pipeline-adaptive parallel.pipeline_parallel_size=2 || failed=1
  return $failed
}

# Two ranks that NCCL takes for different hosts' (NCCL_HOSTID), whom it then connects by sockets. Their kernels wait for each
# other in the GPU's time slices: correct, if it is, and slow.
golden_run() {  # NAME RANKS [section.key=value ...]
  local name=$1 ranks=$2
  shift 2
  # shellcheck disable=SC2016  # each rank expands its own
  mpirun -n "$ranks" bash -c 'NCCL_HOSTID=tenax-$OMPI_COMM_WORLD_RANK NCCL_DEBUG=WARN exec "$@"' -- "$tenax_build/tenax" \
    "$tenax_root/tests/golden/golden.toml" device.kind=cuda run.resume=never run.output_dir="$parts/nccl-$name" \
    checkpoint.interval=-1 "$@"
}
over_nccl() {  # NAME [section.key=value ...]
  local name=$1 log=$parts/nccl-$1.log status=0
  golden_run "$1" 2 "${@:2}" >"$log" 2>&1 || status=$?
  if [ $status != 0 ] || grep -q 'no NCCL' "$log"; then
    tail -n 20 "$log"
    echo "$name: not over NCCL (status $status)$(grep -m 1 'Duplicate GPU' "$log")"
    return 1
  fi
  "$tenax_build/tests/app/run_check" close "$parts/nccl-$name/metrics.jsonl" "$parts/nccl-alone/metrics.jsonl" 1e-5 &&
    echo "$name: over NCCL, the losses of one rank within 1e-5"
}

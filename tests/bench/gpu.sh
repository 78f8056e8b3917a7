#!/usr/bin/env bash
# The CUDA back end on a machine with a GPU: is it right, how fast is it beside PyTorch, where does a step's time go.
#
#   bash tests/bench/gpu.sh [pack] [build] [check] [sanitize] [nccl] [curve] [speed] [table] [delegates]   (default: all, in this order)
#        [--minutes 9] [--rounds 3] [--seconds 10] [--sizes "gpt2-124m gpt2-1.5b"] [--settings "true-false …"] [--python python3]
#        [--no-check] [--built] [--estimate]
#
# build      configures with -DTENAX_CUDA=ON in build/ and builds; a machine without Debian's packages takes Open MPI, HDF5,
#            Kokkos and oneDNN from .bundle/ (or .bundle.tar.xz) in the repository's root (shared/tools/bundle.sh), cuDNN, NCCL
#            and cuBLAS from the Python that is there
# check      operations against plain loops, the golden run in all layouts, repeatability, layouts on one GPU; graph, adaptive,
#            generate, and activations that leave the device, as on the stand-in
# sanitize   the kernels' tests under compute-sanitizer: memcheck, racecheck, initcheck and synccheck
# nccl       the golden run on two ranks of the one GPU that say to be of two hosts, so that NCCL carries what they say
# curve      500 steps of bf16 beside fp32, and beside PyTorch from the same weights: the smoothed losses within 0.5 %
# speed      tokens/s, medians over the rounds, tenax with and without device.deterministic and device.cuda_graph (--settings:
#            DETERMINISTIC-GRAPH), and PyTorch, in turn; share of the measured matrix-product rate. A step is of 0.5 M tokens
#            (124M) or of 65 536 (1.5B), in the largest micro-batch that fits, the same for both
# table      one step by operation, with each one's bound, those below 80 % of it named; the memory that was taken beside what
#            `tenax plan` says, of that micro-batch and of one sequence; what device.offload_optimizer costs a step
# delegates  64 MB messages between two ranks on one GPU: rate of the copies, what processors copy, compute beside it
#
# Each word is made of parts (gpu/estimates.sh names them). A part is ended after twice its estimate (a sanitizer's after four
# times), and begins only where that fits into what is left of --minutes: what does not is left, the status is then 75, and the
# same command goes on from there.
# --estimate only says how long the words will take. What failed is said on standard error, keeps nothing else from being measured,
# and is done again by the next call. Nothing counts as done that ran no test, skipped the GPU or found no figure. Parts are
# remembered in build/bench/gpu-*, one folder for each build of the programs. A missed goal fails its word (--no-check: is said).
#
# For a machine whose time is short: `gpu.sh pack`, here, after `tests/run.sh`, puts the programs into .gpu/programs.tar.xz (22 MB;
# more than 64 MiB, with what goes along, are refused), which is carried with .bundle.tar.xz and .data/tinyshakespeare.txt;
# `gpu.sh --built WORDS`, there, unpacks and builds nothing.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"
# shellcheck disable=SC1090  # in this folder
for file in machine estimates parts kernel_tests check nccl curve speed table delegates; do source "$bench_folder/gpu/$file.sh"; done

words=() rounds=3 seconds=10 sizes="gpt2-124m gpt2-1.5b" python=python3 minutes=9 is_built=0 is_packed=0 is_estimated=0
settings="true-false true-true false-false false-true"  # DETERMINISTIC-GRAPH, the default first
check=1
while [ $# -gt 0 ]; do
  case $1 in
    --check) check=1 ;;
    --no-check) check=0 ;;
    --built) is_built=1 ;;
    --estimate) is_estimated=1 ;;
    --minutes | --rounds | --seconds | --sizes | --settings | --python)
      [ $# -gt 1 ] || die "no value for $1"
      printf -v "${1#--}" %s "$2"
      shift
      ;;
    pack) is_packed=1 ;;
    build | check | sanitize | nccl | curve | speed | table | delegates) words+=("$1") ;;
    *) die "unknown word $1 (the head of $0 lists them)" ;;
  esac
  shift
done
[ ${#words[@]} -gt 0 ] || words=(build check sanitize nccl curve speed table delegates)
end_s=$((60 * minutes))  # of this script, as SECONDS counts

[ $is_packed = 0 ] || { pack; exit; }
say_estimate
[ $is_estimated = 0 ] || exit 0
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
use_bundle
use_wheels
export_mpi_environment
mkdir -p "$bench_work"
rm -f "$left"
prepare || exit
failed=()
for word in "${words[@]}"; do
  echo "== $word"
  [ "$word" = build ] || open_parts
  status=0
  ("do_$word" && end_with_goals) || status=$?  # in a shell of its own: what fails does not keep the others from being measured
  [ $status != 75 ] || exit 75  # the build is left
  [ $status = 0 ] || failed+=("$word")
  [ "$word" != build ] || [ $status = 0 ] || break
done
[ ${#failed[@]} = 0 ] || die "failed: ${failed[*]}"
end_if_left

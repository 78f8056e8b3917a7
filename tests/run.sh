#!/usr/bin/env bash
# Runs every test through ctest, in the same build/ as app/run.sh: bash tests/run.sh [ctest options]
set -u
source "$(dirname "${BASH_SOURCE[0]}")/../app/setup.sh"

# Debian's kernel for the tests on soft RDMA; without one they are skipped, or fail with TENAX_GUEST=required.
prepare_guest() {
  local guest=$tenax_build/guest
  [ "${TENAX_GUEST:-}" != off ] || return 0
  mkdir -p "$guest"
  bash "$tenax_root/tests/verbs/kernel.sh" "$guest" 2>"$guest/obstacle" || say "no tests on soft RDMA: $(cat "$guest/obstacle")"
}

prepare() {
  ensure_packages "${run_packages[@]}" "${test_packages[@]}"
  # In a build that starts here, as in CI, warnings are errors, assertions are on, libraries are compiled by sixteens, and a quicker
  # linker, where there is one, links the many programs; a build of app/run.sh keeps its flags and objects.
  local fresh=()
  if [ ! -e "$tenax_build/build.ninja" ]; then
    fresh=(-DTENAX_WERROR=ON -DTENAX_ASSERTIONS=ON -DTENAX_UNITY=ON)
    ! command -v mold >/dev/null || fresh+=("-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold")
  fi
  configure -DTENAX_TESTS=ON "${fresh[@]}"
  build_target all
  prepare_guest
}

with_build_lock prepare
export_mpi_environment
unset "${!SLURM_@}" "${!SBATCH_@}" "${!SRUN_@}"  # in a job tenax launch would call srun, where tests start what they count by mpirun
exec ctest --test-dir "$tenax_build" --output-on-failure --parallel "$(env -u OMP_NUM_THREADS nproc)" "$@"

# Functions shared by app/run.sh and tests/run.sh: what a machine needs, and the Release build in build/.
# To be sourced. A second call finds nothing to do in about 0.1 s.

tenax_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tenax_build=$tenax_root/build

run_packages=(g++ cmake ninja-build libopenmpi-dev openmpi-bin libtrilinos-kokkos-dev libhdf5-openmpi-dev
              hdf5-tools libtomlplusplus-dev nlohmann-json3-dev libdnnl-dev libssl-dev libcurl4-openssl-dev)
test_packages=(libgtest-dev libbenchmark-dev clang-format-14 dpkg-dev file etcd-server qemu-user mold)
command -v chromium >/dev/null || command -v google-chrome >/dev/null || test_packages+=(chromium-headless-shell)
# What a guest on soft RDMA is made of, and what measures it (tests/verbs).
[ "${TENAX_GUEST:-}" = off ] || test_packages+=(qemu-system-x86 busybox-static cpio kmod xz-utils iproute2 perftest)
command -v srun >/dev/null || test_packages+=(slurmctld slurmd slurm-client munge)  # a site's own Slurm stays alone

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "$@"; exit 1; }

missing_packages() {  # those of "$@" that dpkg does not have installed
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p')
  printf '%s\n' "$@" | grep -vxF -e "$installed" || true
}

as_root() {  # words that run a command as root, `sudo` alone where it asks for a password; fails where nothing does
  if [ "$(id -u)" = 0 ]; then return 0; fi
  command -v sudo >/dev/null || return 1
  if sudo -n true 2>/dev/null; then echo sudo -n; else [ -t 0 ] && echo sudo; fi
}

have_header() {
  local directories=() prefix prefixes=${CMAKE_PREFIX_PATH:-}
  for prefix in ${prefixes//[:;]/ } ${Kokkos_ROOT:-} ${HDF5_ROOT:-} ${dnnl_ROOT:-} ${OPENSSL_ROOT_DIR:-}; do
    directories+=(-I "$prefix/include")
  done
  printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" |
    "${CXX:-c++}" "${directories[@]}" -E -x c++ - >/dev/null 2>&1
}

# A site without apt (or without root) brings the same things as modules. Prints each one that cannot be found.
missing_tools() {
  need() { printf '  %s\n' "$1"; }
  command -v "${CXX:-c++}" >/dev/null || need 'a C++20 compiler (GCC >= 12, Clang >= 15): e.g. module load gcc'
  command -v cmake >/dev/null || need 'CMake >= 3.25: e.g. module load cmake'
  command -v ninja >/dev/null || need 'Ninja: e.g. module load ninja'
  command -v mpirun >/dev/null && command -v mpicxx >/dev/null ||
    need 'MPI (Open MPI >= 4.1): e.g. module load openmpi'
  command -v h5pcc >/dev/null || command -v h5cc >/dev/null || have_header hdf5.h || have_header openmpi/hdf5.h ||
    have_header hdf5/openmpi/hdf5.h ||
    need 'HDF5 >= 1.10.5, with or without MPI: e.g. module load hdf5 (its h5pcc or h5cc in PATH, or HDF5_ROOT)'
  have_header Kokkos_Core.hpp || have_header trilinos/Kokkos_Core.hpp ||
    need 'Kokkos >= 3.4: e.g. module load kokkos (its prefix in CMAKE_PREFIX_PATH)'
  have_header dnnl.hpp || need 'oneDNN >= 2.6: e.g. module load onednn (its prefix in CMAKE_PREFIX_PATH)'
  have_header openssl/hmac.h || need "OpenSSL's libcrypto >= 1.1: e.g. module load openssl (its prefix in OPENSSL_ROOT_DIR)"
  have_header toml++/toml.h || need 'toml++ >= 3: its prefix in CMAKE_PREFIX_PATH'
  have_header nlohmann/json.hpp || need "Niels Lohmann's JSON >= 3.10: its prefix in CMAKE_PREFIX_PATH"
}

check_site_tools() {  # REASON why no package is installed: ends where something is missing
  local missing
  missing=$(missing_tools)
  [ -n "$missing" ] || return 0
  say "missing on this machine, where I cannot install Debian packages ($1):"
  printf '%s\n' "$missing" >&2
  die "load them and call me again; on Debian 12, as root: apt-get install ${run_packages[*]}"
}

ensure_packages() {  # installs what is missing of "$@"
  local missing root
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    check_site_tools 'no apt-get'
    return
  fi
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  if ! root=$(as_root); then
    check_site_tools 'neither root nor sudo'
    return
  fi
  # Who has loaded all as modules may not be allowed to sudo, and is not asked for a password. No module brings what is for tests.
  [ "$root" = sudo ] && [ "$missing" = "$(missing_packages "${run_packages[@]}")" ] && [ -z "$(missing_tools)" ] && return
  say "installing with apt-get:" $missing
  export DEBIAN_FRONTEND=noninteractive
  local options=(-q -y -o DPkg::Lock::Timeout=600)
  { $root apt-get "${options[@]}" update && $root apt-get "${options[@]}" install --no-install-recommends $missing; } >&2 || {
    check_site_tools 'apt-get failed, see above'
    say "apt-get failed (see above); going on with what is here"
  }
}

cached() { sed -n "s/^$1:[A-Z]*=//p" "$tenax_build/CMakeCache.txt" 2>/dev/null; }

# configure [-Dname=value …]: only when build/ is absent, of another folder, or lacks one of the values.
configure() {
  local option name up_to_date=1
  if [ -e "$tenax_build/CMakeCache.txt" ] && [ "$(cached CMAKE_HOME_DIRECTORY)" != "$tenax_root" ]; then
    say "build/ belongs to $(cached CMAKE_HOME_DIRECTORY); starting afresh"
    rm -rf "$tenax_build"/{CMakeCache.txt,CMakeFiles,build.ninja}
  fi
  [ -e "$tenax_build/build.ninja" ] || up_to_date=0
  for option in "$@"; do
    name=${option#-D} name=${name%%=*}
    [ "$(cached "$name")" = "${option#*=}" ] || up_to_date=0
  done
  [ $up_to_date = 1 ] || cmake --preset release -S "$tenax_root" "$@" >"$tenax_build/configure.log" 2>&1 || {
    cat "$tenax_build/configure.log" >&2
    [[ $tenax_build != *' '* ]] || say "CMake finds no HDF5 for a build in a path with a space: $tenax_build"
    die "cmake could not configure build/ (see above)"
  }
}

# build_target NAME: silent when ninja has nothing to do.
build_target() {
  ninja -C "$tenax_build" -n "$1" 2>/dev/null | grep -q 'no work to do' && return
  say "building $tenax_build ($1)"
  cmake --build "$tenax_build" --target "$1" >&2 || die "the build failed (see above)"
}

# with_build_lock COMMAND …: calls in the same clone take turns.
with_build_lock() {
  mkdir -p "$tenax_build" && exec 9>"$tenax_build/.lock" || die "cannot write to $tenax_build"
  flock 9
  "$@" 9>&-
  exec 9>&-
}

# Open MPI as root, with more ranks than cores, unbound, without a word on ranks that fail, and with one thread a rank. Names with
# PRTE are those of Open MPI 5, whose mpirun has no -q.
export_mpi_environment() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
  export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_orte_execute_quiet=1 OMP_NUM_THREADS=1
  export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none
  command -v ssh >/dev/null || command -v rsh >/dev/null || export OMPI_MCA_plm=isolated
}

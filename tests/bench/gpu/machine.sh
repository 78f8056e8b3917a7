# What the machine brings, and the programs: built here, or carried to where they are measured. Sourced by gpu.sh.

# What a device machine takes along in all (bytes).
most_carried=$((64 << 20))
carried_files=(.gpu/programs.tar.xz .bundle.tar.xz .data/tinyshakespeare.txt)
kernel_tests=(kernels_operations_test cuda_attention_test attention_decode_test cuda_device_test)
measured_programs=(tenax tests/app/run_check tests/bench/{step_breakdown,delegated_bench} "${kernel_tests[@]/#/tests/kernels/}")

# The bundle where Debian's packages are missing, and the libraries of Python's wheels where the toolkit lacks them.
use_bundle() {
  [ -e "$tenax_root/.bundle/env.sh" ] || {
    [ -e "$tenax_root/.bundle.tar.xz" ] || return 0
    tar -C "$tenax_root" -xf "$tenax_root/.bundle.tar.xz" 2>/dev/null ||  # where there is no xz, Python has one
      "$python" -W ignore -m tarfile -e "$tenax_root/.bundle.tar.xz" "$tenax_root" || die "cannot unpack .bundle.tar.xz"
  }
  source "$tenax_root/.bundle/env.sh"
}

wheel_folders() {  # the folders of Python's NVIDIA wheels that hold a file named $1
  "$python" -c 'import nvidia; print(*nvidia.__path__, sep="\n")' 2>/dev/null |
    while read -r folder; do find "$folder" -name "$1" -printf '%h\n'; done | sort -u
}

use_wheels() {
  local file folders
  for file in cudnn.h nccl.h cublasLt.h; do
    CMAKE_INCLUDE_PATH=${CMAKE_INCLUDE_PATH:-}$(wheel_folders $file | sed 's/^/:/' | tr -d '\n')
  done
  for file in 'libcudnn.so*' 'libnccl.so*' 'libcublasLt.so*'; do
    folders=$(wheel_folders "$file" | tr '\n' ':')
    CMAKE_LIBRARY_PATH=${CMAKE_LIBRARY_PATH:-}:$folders
    LD_LIBRARY_PATH=$folders${LD_LIBRARY_PATH:-}
  done
  export CMAKE_INCLUDE_PATH CMAKE_LIBRARY_PATH LD_LIBRARY_PATH
}

# The programs that the words need, and two benches, without their symbols.
pack() {
  local program folder
  folder=$(mktemp -d) || die "no room for programs"
  mkdir -p "$tenax_root/.gpu"
  for program in "${measured_programs[@]}" tests/bench/cuda_{matmul,attention}_bench; do
    mkdir -p "$folder/$(dirname "$program")"
    strip -o "$folder/$program" "$tenax_build/$program" || die "$program is not built: tests/run.sh"
  done
  tar -C "$folder" -cf - . | xz -T0 -4 >"$tenax_root/.gpu/programs.tar.xz" || die "cannot pack"
  rm -rf "$folder"
  refuse_what_is_too_large
  ls -l "$tenax_root/.gpu/programs.tar.xz"
}
refuse_what_is_too_large() {
  local bytes
  bytes=$(cd "$tenax_root" && cat "${carried_files[@]}" 2>/dev/null | wc -c)
  [ "$bytes" -gt $most_carried ] || return 0
  rm "$tenax_root/.gpu/programs.tar.xz"
  die "${carried_files[*]} have $bytes bytes together, more than the $most_carried that can be carried"
}

unpack() {
  [ ! -e "$tenax_root/.gpu/programs.tar.xz" ] || [ -e "$tenax_build/tenax" ] || {
    mkdir -p "$tenax_build"
    "$python" -W ignore -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' \
      "$tenax_root/.gpu/programs.tar.xz" "$tenax_build" || die "cannot unpack .gpu/programs.tar.xz"
  }
  make_random_tokens
}

prepare() {
  if [ "$is_built" = 1 ]; then unpack; else builds prepare_bench -DTENAX_TESTS=ON -DTENAX_CUDA=ON; fi
}

# builds COMMAND…: within this call's minutes. Where they do not suffice the script ends, and ninja goes on in the next call.
builds() {
  local status=0
  ended_after $((end_s - SECONDS)) with_build_lock "$@" || status=$?
  [ $status != 124 ] || { leave build; end_if_left; }
  return $status
}

do_build() {
  ! command -v nvidia-smi >/dev/null || nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
  builds build_target all && "$tenax_build/tenax" --version
}

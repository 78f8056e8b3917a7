# cmake -D TOOLKIT=12.5 -D CUDNN=9.6 -D NCCL=2.19 -D FOLDER=empty -P cuda_parts.cmake: what configuring with
# TENAX_CUDA=ON says where these are the versions that are found.
cmake_minimum_required(VERSION 3.25)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR}/../../kernels/cmake)

function(enable_language)
endfunction()
macro(find_package)
  set(CUDAToolkit_VERSION ${TOOLKIT})
endmacro()
function(write_header file library version)
  string(REGEX REPLACE "([0-9]+)\\.([0-9]+)" "#define ${library}_MAJOR \\1\n#define ${library}_MINOR \\2\n" text
    ${version})
  file(WRITE ${FOLDER}/${file} ${text})
endfunction()
write_header(cudnn_version.h CUDNN ${CUDNN})
write_header(nccl.h NCCL ${NCCL})
foreach(library CUDNN NCCL CUBLASLT)
  set(TENAX_${library}_INCLUDE_DIR ${FOLDER})
  set(TENAX_${library}_LIBRARY ${FOLDER}/library)
endforeach()
set(CMAKE_CUDA_COMPILER nvcc)
set(TENAX_CUDA ON)
include(TenaxCuda)

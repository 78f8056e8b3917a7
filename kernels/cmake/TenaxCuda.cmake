# Sets TENAX_HAVE_CUDA, and where it is true gives the targets tenax_cuda_options (how .cu files are compiled), tenax_cuda
# (runtime, cuDNN, NVTX, headers of cuBLASLt, which is loaded when it is used) and tenax_nccl. Nothing of it needs libcuda to
# start: a machine without a driver runs the same executable on its CPU.
set(TENAX_HAVE_CUDA OFF)
if(TENAX_CUDA STREQUAL "OFF")
  return()
endif()

include(CheckLanguage)
include(TenaxParts)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90a CACHE STRING "Hopper unless the site says otherwise")
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit)
endif()

# cuDNN, NCCL and cuBLASLt of a site, of the toolkit's folder, or of Python wheels (which bring no unversioned .so).
find_path(TENAX_CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS} DOC "Directory that holds cudnn.h")
find_library(TENAX_CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDAToolkit_LIBRARY_DIR} DOC "cuDNN 9")
find_path(TENAX_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} DOC "Directory that holds nccl.h")
find_library(TENAX_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${CUDAToolkit_LIBRARY_DIR} DOC "NCCL 2.19 or newer")
find_path(TENAX_CUBLASLT_INCLUDE_DIR cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS} DOC "Directory that holds cublasLt.h")
find_library(TENAX_CUBLASLT_LIBRARY NAMES cublasLt libcublasLt.so.13 libcublasLt.so.12 HINTS ${CUDAToolkit_LIBRARY_DIR}
  DOC "cuBLASLt")
tenax_have_parts(TENAX_HAVE_CUDA TENAX_CUDA "CUDA back end" CMAKE_CUDA_COMPILER TENAX_CUDNN_INCLUDE_DIR TENAX_CUDNN_LIBRARY
  TENAX_NCCL_INCLUDE_DIR TENAX_NCCL_LIBRARY TENAX_CUBLASLT_INCLUDE_DIR TENAX_CUBLASLT_LIBRARY)
if(NOT TENAX_HAVE_CUDA)
  return()
endif()
message(STATUS "CUDA back end: ${CUDAToolkit_VERSION}, for ${CMAKE_CUDA_ARCHITECTURES}")

# CMake 3.25 knows no C++20 for this nvcc, and would give it CMAKE_CXX_STANDARD: it gets the option by hand.
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED OFF)
add_library(tenax_cuda_options INTERFACE)
set(tenax_nvcc_options -std=c++20 --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra,-Wshadow
  $<$<BOOL:${TENAX_WERROR}>:-Werror=all-warnings> $<$<BOOL:${TENAX_WERROR}>:-Xcompiler=-Werror>)
target_compile_options(tenax_cuda_options INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:${tenax_nvcc_options}>")
target_link_libraries(tenax_cuda_options INTERFACE tenax_cuda)

add_library(tenax_cuda INTERFACE)
target_include_directories(tenax_cuda SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS} ${TENAX_CUDNN_INCLUDE_DIR}
  ${TENAX_CUBLASLT_INCLUDE_DIR})
target_link_libraries(tenax_cuda INTERFACE ${TENAX_CUDNN_LIBRARY} CUDA::cudart_static)

add_library(tenax_nccl INTERFACE)
target_include_directories(tenax_nccl SYSTEM INTERFACE ${TENAX_NCCL_INCLUDE_DIR})
target_link_libraries(tenax_nccl INTERFACE ${TENAX_NCCL_LIBRARY} tenax_cuda)

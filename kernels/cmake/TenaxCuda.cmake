# Sets TENAX_HAVE_CUDA, and where it is true gives the targets tenax_cuda_options (how .cu files are compiled), tenax_cuda
# (runtime, NVTX, headers of cuBLASLt and cuDNN) and tenax_nccl (headers). cuBLASLt, cuDNN and NCCL are loaded when a GPU is
# used (kernels/shared_library.hpp), the driver too: the same executable runs on the CPU of a machine that has none of them.
set(TENAX_HAVE_CUDA OFF)
if(TENAX_CUDA STREQUAL "OFF")
  return()
endif()

include(CheckLanguage)
include(TenaxParts)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90a CACHE STRING "Processors to compile for: Hopper unless the site says otherwise")
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit)
endif()

# cuDNN, NCCL and cuBLASLt of a site, of the toolkit's folder, or of Python wheels (which bring no unversioned .so).
find_path(TENAX_CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS} DOC "Directory that holds cudnn.h")
find_library(TENAX_CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDAToolkit_LIBRARY_DIR} DOC "cuDNN 9.6 or newer")
find_path(TENAX_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} DOC "Directory that holds nccl.h")
find_library(TENAX_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${CUDAToolkit_LIBRARY_DIR} DOC "NCCL 2.19 or newer")
find_path(TENAX_CUBLASLT_INCLUDE_DIR cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS} DOC "Directory that holds cublasLt.h")
find_library(TENAX_CUBLASLT_LIBRARY NAMES cublasLt libcublasLt.so.13 libcublasLt.so.12 HINTS ${CUDAToolkit_LIBRARY_DIR}
  DOC "cuBLASLt")
# The older ones lack what is called (toolkits before 12.5 cudaGetDriverEntryPointByVersion), or (cuDNN before 9.6)
# leave sums of gradients uncleared. The library that is loaded is asked too.
tenax_header_version(TENAX_CUDNN_VERSION "${TENAX_CUDNN_INCLUDE_DIR}/cudnn_version.h" CUDNN_MAJOR CUDNN_MINOR)
tenax_header_version(TENAX_NCCL_VERSION "${TENAX_NCCL_INCLUDE_DIR}/nccl.h" NCCL_MAJOR NCCL_MINOR)
if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.5)
  set(cuda_12.5_or_newer ON)
endif()
if(TENAX_CUDNN_VERSION VERSION_GREATER_EQUAL 9.6)
  set(cudnn_9.6_or_newer ON)
endif()
if(TENAX_NCCL_VERSION VERSION_GREATER_EQUAL 2.19)
  set(nccl_2.19_or_newer ON)
endif()
tenax_have_parts(TENAX_HAVE_CUDA TENAX_CUDA "CUDA back end" CMAKE_CUDA_COMPILER cuda_12.5_or_newer
  TENAX_CUDNN_INCLUDE_DIR TENAX_CUDNN_LIBRARY cudnn_9.6_or_newer TENAX_NCCL_INCLUDE_DIR TENAX_NCCL_LIBRARY
  nccl_2.19_or_newer TENAX_CUBLASLT_INCLUDE_DIR TENAX_CUBLASLT_LIBRARY)
if(NOT TENAX_HAVE_CUDA)
  return()
endif()
message(STATUS "CUDA back end: ${CUDAToolkit_VERSION}, cuDNN ${TENAX_CUDNN_VERSION}, NCCL ${TENAX_NCCL_VERSION}, for ${CMAKE_CUDA_ARCHITECTURES}")

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
target_link_libraries(tenax_cuda INTERFACE CUDA::cudart_static)

add_library(tenax_nccl INTERFACE)
target_include_directories(tenax_nccl SYSTEM INTERFACE ${TENAX_NCCL_INCLUDE_DIR})
target_link_libraries(tenax_nccl INTERFACE tenax_cuda)

# tenax_cuda_sources(target FILES): its .cu files. With TENAX_UNITY they are compiled as four units, which CMake 3.25 cannot do
# by itself: four fifths of what nvcc takes for one are headers.
function(tenax_cuda_sources target)
  set(files ${ARGN})
  if(NOT TENAX_UNITY)
    target_sources(${target} PRIVATE ${files})
    return()
  endif()
  foreach(number RANGE 0 3)
    list(LENGTH files rest)
    math(EXPR batch "(${rest} + 3 - ${number}) / (4 - ${number})")
    list(SUBLIST files 0 ${batch} unit)
    list(REMOVE_ITEM files ${unit})
    list(TRANSFORM unit REPLACE "(.+)" "#include \"${CMAKE_CURRENT_SOURCE_DIR}/\\1\"\n")
    list(JOIN unit "" text)
    file(CONFIGURE OUTPUT unity_${number}.cu CONTENT "${text}" @ONLY)
    target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/unity_${number}.cu)
  endforeach()
endfunction()

# Gives the target tenax_dnnl (oneDNN). Not by its package file: Debian's asks for OpenCL headers that
# libdnnl-dev does not depend on, though the CPU engine needs none.
find_path(TENAX_DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp DOC "Directory that holds oneapi/dnnl/dnnl.hpp")
find_library(TENAX_DNNL_LIBRARY dnnl DOC "oneDNN library")
if(NOT TENAX_DNNL_INCLUDE_DIR OR NOT TENAX_DNNL_LIBRARY)
  message(FATAL_ERROR "oneDNN not found: install libdnnl-dev, or add its prefix to CMAKE_PREFIX_PATH")
endif()
add_library(tenax_dnnl INTERFACE)
target_include_directories(tenax_dnnl SYSTEM INTERFACE ${TENAX_DNNL_INCLUDE_DIR})
target_link_libraries(tenax_dnnl INTERFACE ${TENAX_DNNL_LIBRARY})

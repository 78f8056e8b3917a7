# Sets TENAX_HAVE_VERBS, and where it is true TENAX_IBVERBS_INCLUDE_DIR and the target tenax_ibverbs: libibverbs, which comes
# with rdma-core and starts on a machine without RDMA devices.
set(TENAX_HAVE_VERBS OFF)
if(TENAX_VERBS STREQUAL "OFF")
  return()
endif()
include(TenaxParts)
find_path(TENAX_IBVERBS_INCLUDE_DIR infiniband/verbs.h DOC "Directory that holds infiniband/verbs.h")
find_library(TENAX_IBVERBS_LIBRARY ibverbs DOC "libibverbs of rdma-core")
tenax_have_parts(TENAX_HAVE_VERBS TENAX_VERBS "RDMA (libibverbs-dev)" TENAX_IBVERBS_INCLUDE_DIR TENAX_IBVERBS_LIBRARY)
if(NOT TENAX_HAVE_VERBS)
  return()
endif()
message(STATUS "RDMA: ${TENAX_IBVERBS_LIBRARY}")

add_library(tenax_ibverbs INTERFACE)
target_include_directories(tenax_ibverbs SYSTEM INTERFACE ${TENAX_IBVERBS_INCLUDE_DIR})
target_link_libraries(tenax_ibverbs INTERFACE ${TENAX_IBVERBS_LIBRARY})

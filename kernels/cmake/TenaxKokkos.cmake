# Gives the target tenax_kokkos for whatever Kokkos the machine has: a vanilla install (any version, any host
# back end), or Debian's libtrilinos-kokkos-dev, whose Kokkos::kokkos names include directories that do not
# exist. No version is asked for: 3.4's package file refuses 4.x and the reverse.
find_package(Kokkos REQUIRED)
add_library(tenax_kokkos INTERFACE)
if(TARGET trilinos_kokkoscore)
  file(REAL_PATH "${Kokkos_INCLUDE_DIRS}" tenax_kokkos_include_dir)
  target_include_directories(tenax_kokkos SYSTEM INTERFACE ${tenax_kokkos_include_dir})
  target_link_libraries(tenax_kokkos INTERFACE trilinos_kokkosalgorithms trilinos_kokkoscontainers
    trilinos_kokkoscore)
else()
  target_link_libraries(tenax_kokkos INTERFACE Kokkos::kokkos)
endif()

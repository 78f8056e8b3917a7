# A Debian package, by `cpack` in the build folder. One for every processor of this architecture:
#
#   cmake -G Ninja -S . -B build-package -DTENAX_TESTS=OFF
#   cmake --build build-package && cd build-package && cpack
#
# Its Maintainer is TENAX_PACKAGE_CONTACT, by default whoever Debian's tools call the packager: DEBFULLNAME <DEBEMAIL>.
# With the CUDA back end (-DTENAX_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES="80;90a;100") it is the same package for machines with and
# without GPUs: CUDA's libraries, which belong to no package of Debian's, are loaded where there is a GPU.
set(packager "the tenax authors <tenax@localhost>")
if(DEFINED ENV{DEBFULLNAME} AND DEFINED ENV{DEBEMAIL})
  set(packager "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(TENAX_PACKAGE_CONTACT "${packager}" CACHE STRING "Maintainer of the Debian package: Name <address>")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEBIAN_PACKAGE_NAME tenax)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${TENAX_PACKAGE_CONTACT}")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS openmpi-bin)  # mpirun
set(CPACK_PACKAGE_DESCRIPTION "One program that trains, samples, converts and plans GPT-2 models of any size
on any number of MPI ranks: tensor, data and pipeline parallel, with pipelines
that adapt to slow links.")
include(CPack)

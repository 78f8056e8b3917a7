#include "io/hdf5_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tenax::io {

Hdf5File::Hdf5File(const std::filesystem::path& path, hid_t creation, hid_t access)
    : file_(TENAX_HDF5(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access)), H5Fclose) {}

Hdf5File::~Hdf5File() { abandon(); }

void Hdf5File::flush() { TENAX_HDF5(H5Fflush(file_, H5F_SCOPE_GLOBAL)); }

void Hdf5File::close() {
  flush();
  TENAX_HDF5(file_.close());
}

// The driver's descriptor becomes that of an empty file in memory, of which only what is still dirty takes pages.
void Hdf5File::abandon() {
  if (file_ < 0) return;
  const Hdf5Id access(H5Fget_access_plist(file_), H5Pclose);
  void* descriptor = nullptr;
  if (H5Pget_driver(access) != H5FD_SEC2 || H5Fget_vfd_handle(file_, access, &descriptor) < 0) return;
  const int nowhere = memfd_create("tenax-abandoned", MFD_CLOEXEC);
  if (nowhere < 0) return;
  dup3(nowhere, *static_cast<const int*>(descriptor), O_CLOEXEC);
  ::close(nowhere);
}

}  // namespace tenax::io

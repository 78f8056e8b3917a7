// An HDF5 file that is being written, and may fail to be.
#pragma once

#include <filesystem>

#include "io/hdf5_handle.hpp"

namespace tenax::io {

/// HDF5 frees a file whose H5Fclose fails but keeps its identifier, and closes it once more when the process ends, which
/// is a SIGSEGV (1.10.8). So no close fails here: what cannot be written is dropped before. The caller of everything
/// holds an Hdf5Session.
class Hdf5File {
 public:
  /// Creates `path`, emptied if it exists. Throws kernels::Error(rank).
  Hdf5File(const std::filesystem::path& path, hid_t creation, hid_t access);
  Hdf5File(Hdf5File&&) = default;
  ~Hdf5File();  ///< a file that has not been closed is abandoned

  operator hid_t() const { return file_; }
  /// Writes all that HDF5 still holds. Throws kernels::Error(rank); then the file can only be abandoned.
  void flush();
  void close();  ///< flush(), then closes
  /// From now on HDF5 writes into nothing: the file's content is as good as lost. Its objects can be closed then, which
  /// a disk that is full would not let them be. Does nothing for a driver other than HDF5's default one.
  void abandon();

 private:
  Hdf5Id file_;
};

}  // namespace tenax::io

// HDF5 for C++: identifiers that close themselves, calls that throw.
//
// The library is one piece of global state and not thread-safe. Its caller holds an Hdf5Session; a
// process has one at a time. This header is the only way to HDF5 in tenax.
#pragma once

#include <hdf5.h>

#include <filesystem>
#include <mutex>
#include <string>
#include <utility>

#include "kernels/error.hpp"

namespace tenax::io {

/// Exclusive use of the library, which prints no errors of its own meanwhile. Not recursive.
class Hdf5Session {
 public:
  Hdf5Session();

 private:
  std::lock_guard<std::mutex> lock_;
};

/// An identifier and the function that closes it.
class Hdf5Id {
 public:
  using Close = herr_t (*)(hid_t);
  Hdf5Id(hid_t id, Close closer) : id_(id), close_(closer) {}
  Hdf5Id(Hdf5Id&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Id& operator=(Hdf5Id&&) = delete;
  ~Hdf5Id() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }
  /// Closes now and returns the status, for a close that may fail.
  herr_t close() { return close_(std::exchange(id_, -1)); }

 private:
  hid_t id_;
  Close close_;
};

/// A property list of H5F_ACCESS. It uses no file locks where the library allows that, as network
/// file systems often have none. Files created with it have HDF5 1.10's format, in which each
/// object header, heap and index has a checksum. The caller holds an Hdf5Session.
Hdf5Id create_file_access();

/// A property list of `property_class`: H5P_FILE_CREATE, H5P_GROUP_CREATE or H5P_DATASET_CREATE.
/// Its objects have no time stamps, so the same content gives the same bytes. The caller holds an
/// Hdf5Session.
Hdf5Id create_untimed(hid_t property_class);

/// Of a call of HDF5.
class Hdf5Error : public kernels::Error {
 public:
  Hdf5Error(const std::string& sentence, int system_code)
      : Error(kernels::Scope::rank, sentence), system_code_(system_code) {}
  /// The errno of what the system refused; 0 where that was not the reason.
  int system_code() const { return system_code_; }

 private:
  int system_code_;
};

/// Throws Hdf5Error: one line "HDF5: CALL failed: innermost reason".
[[noreturn]] void throw_hdf5_error(const char* call);

template <class T>
T check_hdf5(T result, const char* call) {
  if (result < 0) throw_hdf5_error(call);
  return result;
}

/// An HDF5 file under construction. No close of it fails: what cannot be written is dropped before.
/// (HDF5 1.10.8 frees a file whose H5Fclose fails but keeps its identifier. It closes the file once
/// more when the process ends, which is a SIGSEGV.) The caller holds an Hdf5Session.
class Hdf5File {
 public:
  /// Creates `path`, emptied if it exists. Throws kernels::Error(rank).
  Hdf5File(const std::filesystem::path& path, hid_t creation, hid_t access);
  Hdf5File(Hdf5File&&) = default;
  ~Hdf5File();  ///< abandons a file that has not been closed

  operator hid_t() const { return file_; }
  /// Writes all that HDF5 still holds. Throws kernels::Error(rank); after that the file can only be
  /// abandoned.
  void flush();
  void close();  ///< flush(), then closes
  /// From now on HDF5 writes into nothing, and the file's content is lost. Its objects can then be
  /// closed, which a full disk would not allow. Does nothing for a driver other than HDF5's default
  /// one.
  void abandon();

 private:
  Hdf5Id file_;
};

}  // namespace tenax::io

/// Any HDF5 call whose negative result is a failure; the message quotes the call.
#define TENAX_HDF5(call) ::tenax::io::check_hdf5((call), #call)

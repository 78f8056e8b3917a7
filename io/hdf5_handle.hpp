// HDF5 for C++: identifiers that close themselves, calls that throw.
//
// The library is one big piece of global state and not thread-safe: whoever calls it holds an Hdf5Session,
// of which the process has one at a time. This header is the only way to HDF5 in tenax.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

namespace tenax::io {

/// Exclusive use of the library, its own error printing off. Not recursive.
class Hdf5Session {
 public:
  Hdf5Session();

 private:
  std::lock_guard<std::mutex> lock_;
};

/// A valid identifier and how it is closed.
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
  /// Closes now, for a close that may fail.
  herr_t close() { return close_(std::exchange(id_, -1)); }

 private:
  hid_t id_;
  Close close_;
};

/// A property list of H5F_ACCESS without file locks where the library can: network file systems often have none. Files
/// created with it have HDF5 1.10's format, in which every object header, heap and index has a checksum. The caller
/// holds an Hdf5Session.
Hdf5Id create_file_access();

/// A property list of this class (H5P_FILE_CREATE, H5P_GROUP_CREATE or H5P_DATASET_CREATE) whose objects have no time
/// stamps: the same content, the same bytes. The caller holds an Hdf5Session.
Hdf5Id create_untimed(hid_t property_class);

/// Throws kernels::Error(rank): "HDF5: CALL failed: innermost reason", one line.
[[noreturn]] void throw_hdf5_error(const char* call);

template <class T>
T check_hdf5(T result, const char* call) {
  if (result < 0) throw_hdf5_error(call);
  return result;
}

}  // namespace tenax::io

/// Any HDF5 call whose negative result is a failure; the message quotes the call.
#define TENAX_HDF5(call) ::tenax::io::check_hdf5((call), #call)

#include "io/hdf5.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

namespace tenax::io {
namespace {

/// Guards the library's own global state, hence of the process and not of an object.
std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// One line. What the system refused HDF5 describes over several, of which one says why.
std::string sentence_of(std::string text) {
  constexpr std::string_view kBefore = "error message = '";
  if (const std::size_t at = text.find(kBefore); at != std::string::npos) {
    text.erase(0, at + kBefore.size());
    text.resize(std::min(text.size(), text.find('\'')));
  }
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, ' ');
  return text;
}

/// HDF5 describes what the system refused as "…, errno = 28, error message = '…', …".
int system_code_of(const std::string& text) {
  constexpr std::string_view kBefore = "errno = ";
  const std::size_t at = text.rfind(kBefore);
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + kBefore.size());
}

herr_t keep_description(unsigned, const H5E_error2_t* error, void* text) {
  if (error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

}  // namespace

Hdf5Session::Hdf5Session() : lock_(library_mutex()) { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

Hdf5Id create_file_access() {
  Hdf5Id access(TENAX_HDF5(H5Pcreate(H5P_FILE_ACCESS)), H5Pclose);
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
  TENAX_HDF5(H5Pset_file_locking(access, false, true));
#endif
  TENAX_HDF5(H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110));
  return access;
}

Hdf5Id create_untimed(hid_t property_class) {
  Hdf5Id properties(TENAX_HDF5(H5Pcreate(property_class)), H5Pclose);
  TENAX_HDF5(H5Pset_obj_track_times(properties, false));
  return properties;
}

void throw_hdf5_error(const char* call) {
  std::string reason = "no reason given";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_description, &reason);  // the last one is the innermost
  throw Hdf5Error(std::string("HDF5: ") + call + " failed: " + sentence_of(reason), system_code_of(reason));
}

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

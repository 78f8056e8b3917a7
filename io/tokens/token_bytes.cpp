#include "io/tokens/token_bytes.hpp"

#include <string>
#include <system_error>

#include "kernels/error.hpp"

namespace tenax::io {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what) {
  throw kernels::Error(kernels::Scope::rank, "token file " + file.string() + ": " + what);
}

}  // namespace

TokenBytes::TokenBytes(const std::filesystem::path& file) : path_(file), file_(open()), size_(file_->size()) {
  if (size_ == 0) fail(path_, "the file is empty");
}

PosixFile TokenBytes::open() const {
  std::error_code failure;
  const int descriptor = open_regular_file(path_, failure);
  if (failure) fail(path_, "cannot open: " + reason(failure));
  return PosixFile::adopt(descriptor, path_);
}

void TokenBytes::read(std::span<std::byte> out, std::int64_t offset) const {
  if (!file_) {
    file_.emplace(open());
    if (file_->size() != size_)
      fail(path_, "it had " + std::to_string(size_) + " bytes when it was first opened and has " +
                      std::to_string(file_->size()) + " now: somebody has changed it meanwhile");
  }
  try {
    file_->read(out, offset);
  } catch (const kernels::Error& error) {
    fail(path_, error.what());
  }
}

}  // namespace tenax::io

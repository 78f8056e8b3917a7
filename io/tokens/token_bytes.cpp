#include "io/tokens/token_bytes.hpp"

#include <string>
#include <system_error>

#include "kernels/error.hpp"

namespace tenax::io {

void refuse_tokens(const std::filesystem::path& file, const std::string& what) {
  throw kernels::Error(kernels::Scope::rank, "token file " + file.string() + ": " + what);
}

TokenBytes::TokenBytes(const std::filesystem::path& file) : path_(file), file_(open()), size_(file_->size()) {
  if (size_ == 0) refuse_tokens(path_, "the file is empty");
}

PosixFile TokenBytes::open() const {
  std::error_code failure;
  const int descriptor = open_regular_file(path_, failure);
  if (failure) refuse_tokens(path_, "cannot open: " + reason(failure));
  return PosixFile::adopt(descriptor, path_);
}

void TokenBytes::read(std::span<std::byte> out, std::int64_t offset) const {
  if (!file_) {
    file_.emplace(open());
    if (file_->size() != size_)
      refuse_tokens(path_, "it had " + std::to_string(size_) + " bytes when it was first opened and has " +
                               std::to_string(file_->size()) + " now: somebody has changed it meanwhile");
  }
  try {
    file_->read(out, offset);
  } catch (const kernels::Error& error) {
    refuse_tokens(path_, error.what());
  }
}

}  // namespace tenax::io

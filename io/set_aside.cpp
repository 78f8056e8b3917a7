#include "io/set_aside.hpp"

#include <string>
#include <system_error>

#include "kernels/error.hpp"

namespace tenax::io {

namespace fs = std::filesystem;

fs::path free_name_beside(const fs::path& path) {
  std::error_code none;
  for (int number = 1;; ++number) {
    fs::path name = path.string() + "." + std::to_string(number);
    if (!fs::exists(fs::symlink_status(name, none))) return name;
  }
}

std::optional<fs::path> set_aside(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  fs::path target = free_name_beside(path);
  fs::rename(path, target, error);
  if (!error) return target;
  throw kernels::Error(kernels::Scope::rank,
                       "cannot move " + path.string() + " to " + target.string() + ": " + error.message());
}

}  // namespace tenax::io

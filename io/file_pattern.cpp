#include "io/file_pattern.hpp"

#include <glob.h>

#include "kernels/error.hpp"

namespace tenax::io {

namespace fs = std::filesystem;

bool has_wildcards(const std::string& name) { return name.find_first_of("*?[") != std::string::npos; }

std::vector<fs::path> matching_files(const std::string& name) {
  std::error_code none;
  if (!has_wildcards(name) || fs::exists(name, none)) return {name};
  glob_t found{};
  const int status = ::glob(name.c_str(), GLOB_BRACE | GLOB_TILDE, nullptr, &found);
  const std::vector<fs::path> files(found.gl_pathv, found.gl_pathv + (status == 0 ? found.gl_pathc : 0));
  ::globfree(&found);
  if (files.empty()) throw kernels::Error(kernels::Scope::rank, "no file matches " + name);
  return files;
}

}  // namespace tenax::io

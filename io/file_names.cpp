#include "io/file_names.hpp"

#include <glob.h>

#include <algorithm>
#include <string_view>
#include <system_error>

#include "io/shard_names.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what) { throw kernels::Error(kernels::Scope::rank, what); }

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (std::string_view("*?[]{}\\~").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure))
    files.push_back(entry->path());
  if (failure) fail("cannot read the folder " + folder.string() + ": " + failure.message());
  return files;
}

/// `name` as a pattern whose folders stand for themselves where they exist.
std::string pattern_of(const fs::path& name) {
  std::error_code none;
  fs::path known, pattern;
  auto part = name.begin();
  for (; part != name.end() && fs::exists(known / *part, none); ++part) {
    known /= *part;
    pattern /= escaped(part->string());
  }
  for (; part != name.end(); ++part) pattern /= *part;
  return pattern.string();
}

bool is_unwanted(const fs::path& file) {
  return !is_token_file_name(file) || file.filename().string().starts_with('.');
}

}  // namespace

bool is_token_file_name(const fs::path& name) {
  const fs::path ending = name.extension();
  return ending == ".txt" || ending == ".bin" || ending == ".h5";
}

bool may_name_many(const fs::path& name) {
  return has_wildcards(name.string()) || !name.has_filename() || !name.has_extension();
}

std::vector<fs::path> token_files_of(const fs::path& name) {
  std::error_code none;
  const bool is_folder = fs::is_directory(name, none);
  if (!is_token_file_name(name) && !has_wildcards(name.string()) && !fs::exists(name, none))
    fail("there is no file or folder " + name.string());
  if (!is_folder && (!has_wildcards(name.string()) || fs::exists(name, none))) return {name};
  std::vector<fs::path> files = is_folder ? files_in(name) : matching_files(name.string());
  std::erase_if(files, is_unwanted);
  std::sort(files.begin(), files.end());
  const std::string what = (is_folder ? "the files in " : "the files that match ") + name.string();
  if (files.empty()) fail("none of " + what + " ends in " + std::string(kTokenEndings));
  const auto other = std::find_if(files.begin(), files.end(), [&](const fs::path& file) {
    return file.extension() != files.front().extension();
  });
  if (other != files.end())
    fail(what + " are of more than one kind (" + files.front().filename().string() + ", " +
         other->filename().string() + "): say which are meant by a pattern, such as *" +
         files.front().extension().string());
  check_sets_are_whole(files);
  return files;
}

bool has_wildcards(const std::string& name) { return name.find_first_of("*?[{") != std::string::npos; }

std::vector<fs::path> matching_files(const std::string& name) {
  std::error_code none;
  if (!has_wildcards(name) || fs::exists(name, none)) return {name};
  glob_t found{};
  const int status = ::glob(pattern_of(name).c_str(), GLOB_BRACE | GLOB_TILDE, nullptr, &found);
  const std::vector<fs::path> files(found.gl_pathv, found.gl_pathv + (status == 0 ? found.gl_pathc : 0));
  ::globfree(&found);
  if (files.empty()) throw kernels::Error(kernels::Scope::rank, "no file matches " + name);
  return files;
}

}  // namespace tenax::io

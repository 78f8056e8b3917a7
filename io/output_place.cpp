// /dev/stdout, and what a shell makes of >(command), lead to /proc/PID/fd/N. Such a link is not followed: the file that
// the shell has opened there may hold more than this output, and is written from where it stands.
#include "io/output_place.hpp"

#include <fcntl.h>

#include <cerrno>
#include <span>
#include <string>
#include <system_error>

#include "kernels/number_text.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

/// Which of this process's descriptors `path` names; none for another path.
std::optional<int> descriptor_of(const fs::path& path) {
  std::error_code failure;
  const fs::path folder = fs::canonical(folder_of(path), failure);
  if (failure || folder != fs::canonical("/proc/self/fd", failure)) return {};
  return kernels::number_of<int>(path.filename().string());
}

fs::path end_of_links(fs::path path) {
  constexpr int kMostLinks = 40;  // as many as the system follows
  std::error_code failure;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, failure) && !descriptor_of(path); ++i)
    path = folder_of(path) / fs::read_symlink(path, failure);
  return path;
}

/// Why an output at `end`, which is no link, cannot be a file.
std::error_code fault_of_place(const fs::path& end) {
  if (descriptor_of(end)) return not_a_file();
  std::error_code failure;
  const fs::file_status status = fs::status(end, failure);
  if (fs::is_regular_file(status) || status.type() == fs::file_type::not_found) return {};
  if (fs::is_directory(status)) return std::make_error_code(std::errc::is_a_directory);
  return failure ? failure : not_a_file();
}

PosixFile open_stream_at(const fs::path& end) {
  const auto descriptor = descriptor_of(end);
  if (!descriptor) return PosixFile::open_to_append(end);
  const int copy = ::fcntl(*descriptor, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) throw_file_error("write", end, errno);
  return PosixFile::adopt(copy, end);
}

}  // namespace

fs::path file_of_output(const fs::path& named) {
  fs::path end = end_of_links(named);
  if (const auto fault = fault_of_place(end)) throw_file_error("write", named, fault);
  return end;
}

bool is_stream(const fs::path& named) { return fault_of_place(end_of_links(named)) == not_a_file(); }

TextOutput::TextOutput(const fs::path& named) {
  if (is_stream(named))
    stream_.emplace(open_stream_at(end_of_links(named)));
  else
    file_.emplace(file_of_output(named), named);
}

void TextOutput::append(std::string_view text) const {
  (file_ ? file_->file() : *stream_).append(std::as_bytes(std::span(text)));
}

void TextOutput::publish() {
  if (file_) file_->publish();
}

void write_text_output(const fs::path& named, std::string_view text) {
  TextOutput output(named);
  output.append(text);
  output.publish();
}

}  // namespace tenax::io

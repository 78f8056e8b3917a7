// A text file that grows by whole lines.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tenax::io {

class PosixFile;

class LineFile {
 public:
  /// Opens or creates, but follows no link. A last line without its end (a writer was killed) is cut off. Throws Error(rank).
  explicit LineFile(const std::filesystem::path& file);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  /// Adds `line` and a line end in one write(2). If it does not fit, the file is as before; throws Error(rank).
  void append(const std::string& line);

  /// False once the file has been removed, moved or replaced.
  bool in_place() const;
  /// Where it is no longer in place: a new file with all that was written to the old one, or who has taken its name.
  void restore();

 private:
  void open(int flags);
  void copy_from(const PosixFile& old) const;
  void write_all(std::string_view text) const;
  void cut_torn_line();
  [[noreturn]] void fail(int error) const;

  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace tenax::io

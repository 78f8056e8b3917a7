// A text file that grows by whole lines.
#pragma once

#include <filesystem>
#include <string>

namespace tenax::io {

class LineFile {
 public:
  /// Opens or creates. A last line without its end (a writer was killed) is cut off. Throws Error(rank).
  explicit LineFile(const std::filesystem::path& file);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  /// Adds `line` and a line end in one write(2). If it does not fit, the file is as before; throws Error(rank).
  void append(const std::string& line);

 private:
  void cut_torn_line();
  [[noreturn]] void fail(int error) const;

  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace tenax::io

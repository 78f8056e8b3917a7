// LineFile: a text file that grows by whole lines.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tenax::io {

class LineFile {
 public:
  /// Opens or creates the file; follows no link. Cuts off a last line without its end, which a
  /// killed writer left. Throws Error(rank).
  explicit LineFile(const std::filesystem::path& file);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  /// Adds `line` and a line end in one write(2). Throws Error(rank) if they do not fit; the file is
  /// then as before.
  void append(const std::string& line);

  /// What was added outlives a crash of the host from now on. Throws Error(rank).
  void sync() const;

  /// False once the file has been removed, moved or replaced.
  bool in_place() const;
  /// Unless the file is in place: opens or creates the file of that name, and gives a new one all
  /// lines of the old. Throws Error(rank) if they do not fit; the old one is written on then.
  void restore();

 private:
  void open(int flags);
  void copy_from(int old) const;
  void write_all(std::string_view text) const;
  void cut_torn_line();
  [[noreturn]] void fail(int error) const;

  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace tenax::io

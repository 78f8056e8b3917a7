// CallLogFile: rank-N.csv, in which each recorded call is a line.
#pragma once

#include <limits.h>

#include <cstddef>
#include <cstdint>

namespace tenax::comm::monitor {

struct CallRecord {
  std::int64_t nanoseconds = 0;  ///< when the call began
  const char* call = nullptr;
  std::int64_t bytes = 0, ranks = 0;
};

/// What cannot be done is said on stderr, once. One thread at a time.
class CallLogFile {
 public:
  /// Reads TENAX_MONITOR_DIR, and makes it absolute: the program may change its directory. Whether
  /// there is one.
  bool find_directory();
  /// The file of this process's rank, emptied, with the header of a call log. It must not be that
  /// of another process that lives.
  bool open();
  bool is_open() const { return descriptor_ >= 0; }
  bool write(const CallRecord* records, std::size_t count);
  void close();

 private:
  bool fails(const char* why);
  bool write_text(std::size_t characters);

  int descriptor_ = -1;
  char directory_[PATH_MAX] = {}, path_[PATH_MAX] = {};
  char text_[1 << 15] = {};
};

}  // namespace tenax::comm::monitor

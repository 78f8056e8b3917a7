// The log of one rank's MPI and NCCL calls, as libtenax_monitor.so writes it (comm/monitor/).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tenax::io {

/// The first line of a call log's file.
inline constexpr std::string_view kCallLogHeader = "seconds,call,bytes,ranks";

/// Calls of one kind have the same name, number of bytes and number of ranks.
struct CallKind {
  std::string name;
  std::int64_t bytes = 0, ranks = 0;
  auto operator<=>(const CallKind&) const = default;
};

/// The calls in the order in which they began.
struct CallLog {
  std::vector<double> seconds;              ///< of each call's begin, on any clock; they never decrease
  std::vector<std::uint32_t> kind_of_call;  ///< of each call, an index into `kinds`
  std::vector<CallKind> kinds;              ///< each once
};

/// Reads a CSV file with the columns of kCallLogHeader. Empty lines and lines that begin with # do
/// not count. Throws Error(rank) "FILE:LINE: …", or "cannot open FILE: …".
CallLog read_call_log(const std::filesystem::path& file);

}  // namespace tenax::io

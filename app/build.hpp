// Which program this is, for what it writes to say so.
#pragma once

#include <string>

namespace tenax::app {

struct Build {
  std::string version;
  /// Of the source: 40 digits, then "-dirty" where it was changed since. Empty: not known.
  std::string commit;
};

/// Of this executable (build_commit.cmake writes it): main() asks, and hands it on.
const char* build_commit();

}  // namespace tenax::app

// Which program this is, for what it writes to say so.
#pragma once

#include <string>

namespace tenax::app {

struct Build {
  std::string version;
  std::string
      commit;  ///< of the source, 40 digits, "-dirty" after them where it was changed since; empty: not known
};

/// Of this executable (build_commit.cmake writes it): main() asks, and hands it on.
const char* build_commit();

}  // namespace tenax::app

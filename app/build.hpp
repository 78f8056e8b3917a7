// Which program this is, for what it writes to say so.
#pragma once

#include <string>

namespace tenax::app {

struct Build {
  std::string version;
  /// The source's commit: 40 digits, then "-dirty" where it was changed since. Empty: not known.
  std::string commit;

  /// By which the replicas of a run are compared.
  std::string text() const { return version + " " + commit; }
};

/// This executable's Build::commit, which build_commit.cmake writes. main() asks, and hands it on.
const char* build_commit();

}  // namespace tenax::app

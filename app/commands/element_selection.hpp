// ElementSelection: elements of a parameter, as a command line names them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tenax::app {

/// Flat elements [begin, end) of the unsharded parameter `name`; without an end all from `begin` on.
struct ElementSelection {
  std::string name;  ///< Hugging Face
  std::int64_t begin = 0;
  std::optional<std::int64_t> end = {};
  bool operator==(const ElementSelection&) const = default;
};

/// "NAME", "NAME[I]", "NAME[I:J]", "NAME[I:]" or "NAME[:J]". A group of a checkpoint in front of the
/// name ("/model/NAME", "/optimizer/exp_avg/NAME"), as inspect lists outliers, is left out. Throws
/// Error(usage) for anything else, and where nothing is selected.
ElementSelection parse_selection(const std::string& text);

}  // namespace tenax::app

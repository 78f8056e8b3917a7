// What data.train and data.validation name, as samples, for all ranks of a run.
#pragma once

#include <string>
#include <vector>

#include "app/console.hpp"
#include "comm/control_group.hpp"
#include "io/deck/deck.hpp"
#include "io/tokens/token_blend.hpp"

namespace tenax::app {

/// An entry of data.train or data.validation, and the files that it stands for.
struct SourceFiles {
  std::vector<std::string> files;
  double weight = 0;  ///< 0: the number of their tokens
};

/// Collective: as rank 0 sees the files. Throws comm::AgreedError if an entry stands for none.
std::vector<SourceFiles> find_files(comm::ControlGroup& control, const std::vector<io::DataSource>& sources);

/// Collective. Every rank opens each file, and closes it again until it is read.
///
/// Tokens beyond the vocabulary are an error in any case. A set of up to some 10^9 tokens is read
/// through now, each rank its share. In a larger set the beginning of each file is read now, and
/// every window is checked when it is read. Token files of format 1, which cannot be verified as
/// they are read, are verified now, in a set that is read through.
///
/// Throws comm::AgreedError naming the file.
std::vector<io::TokenBlend::Source> open_sources(comm::ControlGroup& control, Console& console,
                                                 const std::vector<SourceFiles>& sources,
                                                 const io::Deck& deck);

/// Names and sizes of the files in their order: where it is the same, so is each sample.
std::string files_text(const std::vector<io::TokenBlend::Source>& sources);

}  // namespace tenax::app

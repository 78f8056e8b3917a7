#include "app/training_data.hpp"

#include <algorithm>
#include <string>

#include "app/token_opening.hpp"
#include "io/token_names.hpp"
#include "resilience/agreement.hpp"

namespace tenax::app {

namespace {

using Sources = std::vector<io::TokenBlend::Source>;

/// Of each source its files, as rank 0 sees them. Names may hold anything but a zero byte.
std::vector<std::vector<std::string>> agree_on_files(comm::ControlGroup& control,
                                                     const std::vector<io::DataSource>& sources) {
  std::vector<std::vector<std::string>> files;
  for (const io::DataSource& source : sources) {
    std::string names;
    control.agree([&] {
      if (control.rank() != 0) return;
      for (const auto& file : io::token_files_of(source.file)) names += file.string() + '\0';
    });
    names = control.broadcast(names, 0);
    files.emplace_back();
    for (std::size_t at = 0; at < names.size(); at = names.find('\0', at) + 1)
      files.back().emplace_back(names.c_str() + at);
  }
  return files;
}

/// A part of a file that one rank looks at.
struct Part {
  io::TokenFile* file;
  std::int64_t begin, end;
};

std::int64_t size_of(const Sources& sources) {
  std::int64_t tokens = 0;
  for (const auto& source : sources)
    for (const auto& file : source.files) tokens += file->size();
  return tokens;
}

/// The parts of rank `rank` of `ranks`.
std::vector<Part> parts_to_scan(const Sources& sources, int rank, int ranks) {
  constexpr std::int64_t kWhole = std::int64_t{1} << 31, kPart = 1 << 24, kBeginning = 1 << 20;
  const bool is_whole = size_of(sources) <= kWhole;
  const std::int64_t length = is_whole ? kPart : kBeginning;
  std::vector<Part> parts;
  int next = 0;  // whose turn it is
  for (const auto& source : sources)
    for (const auto& file : source.files)
      for (std::int64_t begin = 0; begin == 0 || (is_whole && begin < file->size()); begin += length) {
        if (next == rank) parts.push_back({file.get(), begin, std::min(begin + length, file->size())});
        next = (next + 1) % ranks;
      }
  return parts;
}

// Some at a time, so that nobody waits long for the slowest disk.
void scan(comm::ControlGroup& control, const Sources& sources, std::int64_t vocab_size) {
  constexpr std::size_t kPartsARound = 4;
  const std::vector<Part> parts = parts_to_scan(sources, control.rank(), control.size());
  std::size_t at = 0;
  resilience::agree_in_rounds(control, [&] {
    for (const std::size_t end = std::min(parts.size(), at + kPartsARound); at < end; ++at) {
      io::check_tokens(*parts[at].file, vocab_size, parts[at].begin, parts[at].end);
      parts[at].file->close();
    }
    return at < parts.size();
  });
}

}  // namespace

std::vector<io::TokenBlend::Source> open_sources(comm::ControlGroup& control,
                                                 const std::vector<io::DataSource>& sources,
                                                 const io::Deck& deck) {
  const auto files = agree_on_files(control, sources);
  Sources opened(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    opened[i].weight = sources[i].weight;
    for (const std::string& file : files[i]) {
      opened[i].files.push_back(open_together(control, file, deck));
      opened[i].files.back()->close();
    }
  }
  scan(control, opened, deck.model.vocab_size);
  return opened;
}

}  // namespace tenax::app

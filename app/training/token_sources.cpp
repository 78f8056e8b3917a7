#include "app/training/token_sources.hpp"

#include <algorithm>
#include <string>

#include "app/progress.hpp"
#include "app/training/token_opening.hpp"
#include "comm/control_group.hpp"
#include "io/file_names.hpp"
#include "io/tokens/token_hdf5.hpp"

namespace tenax::app {

namespace {

using Sources = std::vector<io::TokenBlend::Source>;

/// A part of a file that one rank looks at.
struct Part {
  io::TokenFile* file;
  std::int64_t begin, end;
};

/// Sets of more tokens are not read through before the first step.
constexpr std::int64_t kReadThrough = std::int64_t{1} << 31;

std::int64_t size_of(const Sources& sources) {
  std::int64_t tokens = 0;
  for (const auto& source : sources)
    for (const auto& file : source.files) tokens += file->size();
  return tokens;
}

/// "checking the tokens of FILE", or of so many.
std::string scanning(const Sources& sources) {
  std::size_t files = 0;
  for (const auto& source : sources) files += source.files.size();
  const bool is_one = files == 1 && !sources.front().files.empty();
  return "checking the tokens of " +
         (is_one ? sources.front().files.front()->path().string() : std::to_string(files) + " files");
}

/// The parts of rank `rank` of `ranks`.
std::vector<Part> parts_to_scan(const Sources& sources, int rank, int ranks) {
  constexpr std::int64_t kPart = 1 << 24, kBeginning = 1 << 20;
  const bool is_whole = size_of(sources) <= kReadThrough;
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
void scan(comm::ControlGroup& control, Console& console, const Sources& sources, std::int64_t vocab_size) {
  constexpr std::size_t kPartsARound = 4;
  const std::vector<Part> parts = parts_to_scan(sources, control.rank(), control.size());
  std::size_t at = 0;
  Preparation shown(console, scanning(sources));
  comm::agree_in_rounds(control, [&] {
    shown.show(parts.empty() ? 1 : static_cast<double>(at) / static_cast<double>(parts.size()));
    for (const std::size_t end = std::min(parts.size(), at + kPartsARound); at < end; ++at) {
      io::check_tokens(*parts[at].file, vocab_size, parts[at].begin, parts[at].end);
      parts[at].file->close();
    }
    return at < parts.size();
  });
}

// Tokens of format 2 are verified as they are read.
void verify_old_files(comm::ControlGroup& control, const Sources& sources) {
  if (size_of(sources) > kReadThrough) return;
  std::vector<std::filesystem::path> mine;
  int next = 0;  // whose turn it is
  for (const auto& source : sources)
    for (const auto& file : source.files) {
      if (file->path().extension() != ".h5") continue;
      if (next == control.rank()) mine.push_back(file->path());
      next = (next + 1) % control.size();
    }
  comm::agree_in_rounds(control, [&] {
    if (mine.empty()) return false;
    io::verify_old_token_file(mine.back());
    mine.pop_back();
    return !mine.empty();
  });
}

}  // namespace

std::vector<SourceFiles> find_files(comm::ControlGroup& control, const std::vector<io::DataSource>& sources) {
  std::vector<SourceFiles> found;
  for (const io::DataSource& source : sources) {
    std::string names;  // each with a zero byte at its end, which no name has within
    control.agree([&] {
      if (control.rank() != 0) return;
      for (const auto& file : io::token_files_of(source.file)) names += file.string() + '\0';
    });
    names = control.broadcast(names, 0);
    found.push_back({{}, source.weight});
    for (std::size_t at = 0; at < names.size(); at = names.find('\0', at) + 1)
      found.back().files.emplace_back(names.c_str() + at);
  }
  return found;
}

std::vector<io::TokenBlend::Source> open_sources(comm::ControlGroup& control, Console& console,
                                                 const std::vector<SourceFiles>& sources,
                                                 const io::Deck& deck) {
  Sources opened;
  for (const SourceFiles& source : sources) {
    opened.push_back({{}, source.weight});
    for (const std::string& file : source.files) {
      opened.back().files.push_back(open_together(control, file, deck));
      opened.back().files.back()->close();
    }
  }
  scan(control, console, opened, deck.model.vocab_size);
  verify_old_files(control, opened);
  return opened;
}

std::string files_text(const std::vector<io::TokenBlend::Source>& sources) {
  std::string text;
  for (const auto& source : sources) {
    for (const auto& file : source.files)
      text += file->path().string() + '\0' + std::to_string(file->size()) + '\n';
    text += '\n';
  }
  return text;
}

}  // namespace tenax::app

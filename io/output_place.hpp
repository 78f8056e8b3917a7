// Outputs of commands, at places that users name: a file, perhaps behind a link, or what is none and must not be
// replaced by one, such as a pipe, /dev/stdout or /dev/null. Errors are as whole_file.hpp's.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "io/whole_file.hpp"

namespace tenax::io {

/// The file that an output named `named` replaces: behind links the one that they lead to, which need not exist. Throws
/// kernels::UnfitFileError where something has the name that is no file.
std::filesystem::path file_of_output(const std::filesystem::path& named);

/// Whether an output named so goes into a pipe, a terminal or a device, where nothing else is to be written between.
bool is_stream(const std::filesystem::path& named);

/// A text. As a file it appears complete, or not at all; a pipe, a terminal or a device gets it as it comes.
class TextOutput {
 public:
  /// Waits for a pipe's reader.
  explicit TextOutput(const std::filesystem::path& named);
  void append(std::string_view text) const;
  void publish();  ///< the text is complete

 private:
  std::optional<AtomicFile> file_;   ///< one of these
  std::optional<PosixFile> stream_;  ///< what is no file
};

void write_text_output(const std::filesystem::path& named, std::string_view text);

}  // namespace tenax::io

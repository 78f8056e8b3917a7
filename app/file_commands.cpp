#include "app/file_commands.hpp"

#include <cstdio>
#include <optional>

#include "app/checkpoint_argument.hpp"
#include "app/command_line.hpp"
#include "io/checkpoint_convert.hpp"
#include "io/checkpoint_inspect.hpp"
#include "io/utf8.hpp"
#include "kernels/error.hpp"

namespace tenax::app {

namespace {

std::string required(const CommandLine& line, const std::string& command, const std::string& option) {
  const std::string value = line.text(option, "");
  if (value.empty())
    throw kernels::Error(kernels::Scope::usage, command + ": --" + option + " FILE is missing");
  return value;
}

}  // namespace

int import_command(const std::vector<std::string>& arguments, const Build& build) {
  constexpr std::int64_t kMostHeads = 1 << 20;
  const CommandLine line({"import", {"out", "num-attention-heads"}, {}, 1, 1}, arguments);
  const std::string out = required(line, "import", "out");
  std::optional<std::int64_t> heads;
  if (line.has("num-attention-heads")) heads = line.integer("num-attention-heads", 0, 1, kMostHeads);
  io::CheckpointOrigin origin;
  origin.tenax_version = build.version;
  origin.commit = build.commit;
  const auto [info, ignored] = io::import_safetensors(line.positional().front(), out, heads, origin);
  std::printf("%s: GPT-2 with %lld layers, %lld heads, width %lld, vocabulary %lld, %zu tensors\n",
              out.c_str(), static_cast<long long>(info.model.num_layers),
              static_cast<long long>(info.model.num_attention_heads),
              static_cast<long long>(info.model.hidden_size), static_cast<long long>(info.model.vocab_size),
              info.parameters.size());
  if (ignored.empty()) return 0;
  std::printf("ignored, for they are no parameters:");
  for (const std::string& name : ignored) std::printf(" %s", io::excerpt(name).c_str());
  std::printf("\n");
  return 0;
}

int export_command(const std::vector<std::string>& arguments) {
  const CommandLine line({"export", {"out", "dtype"}, {}, 1, 1}, arguments);
  const std::string out = required(line, "export", "out");
  if (!out.ends_with(".safetensors"))
    throw kernels::Error(kernels::Scope::usage,
                         "export: --out " + out +
                             " must end in .safetensors, which is what is written (a .bin would be taken for "
                             "PyTorch's)");
  io::export_safetensors(checkpoint_of_argument(line.positional().front()), out, line.text("dtype", "F32"));
  std::printf("%s\n", out.c_str());
  return 0;
}

int inspect_command(const std::vector<std::string>& arguments) {
  const CommandLine line({"inspect", {}, {}, 1, 1}, arguments);
  std::printf("%s", io::inspect(line.positional().front()).c_str());
  return 0;
}

}  // namespace tenax::app

// Checkpoints.
#include "io/checkpoint/checkpoint_inspect.hpp"
#include "io/checkpoint/checkpoint_serial.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::fuzz {
namespace {

constexpr io::ModelSizes kModel = {.num_layers = 1,
                                   .hidden_size = 4,
                                   .num_attention_heads = 2,
                                   .ffn_hidden_size = 4,
                                   .seq_length = 4,
                                   .vocab_size = 5};

void read_all(const std::filesystem::path& file) {
  accepts([&] { io::inspect(file); });
  accepts([&] {
    const io::CheckpointInfo info = io::open_checkpoint(file);
    require(io::to_text(io::parse_info(io::to_text(info))) == io::to_text(info),
            "what a checkpoint holds reaches other ranks as it is");
    const io::WholeState state(kModel);
    io::read_checkpoint(file, info, state.ranges);
  });
}

}  // namespace

std::vector<std::string> seeds() {
  const io::test::TemporaryFolder folder;
  const io::WholeState state(kModel);
  io::CheckpointInfo info;
  info.step = 7;
  info.model = kModel;
  info.deck = "[run]\n";
  io::write_checkpoint(folder.path() / "a.h5", info, state.ranges);
  return {folder.read("a.h5")};
}

}  // namespace tenax::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenax;
  static const io::test::TemporaryFolder folder;
  fuzz::read_all(folder.write("a.h5", std::string(fuzz::text_of(data, size))));
  return 0;
}

// What `tenax blame` reads.
#include "resilience/blame/culprits.hpp"
#include "resilience/blame/hang_file.hpp"
#include "resilience/blame/hang_picture.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::fuzz {
namespace {

void blame(const io::test::TemporaryFolder& folder, const std::filesystem::path& file) {
  const resilience::HangDump dump = resilience::read_hang(file);
  const std::string text = resilience::hang_text(dump);
  require(resilience::hang_text(resilience::read_hang(folder.write("again", text))) == text,
          "a hang that was written reads back as the same");
  const resilience::Blame found = resilience::find_culprits(dump);
  require(found.culprits.size() <= resilience::Blame::kMost, "few are named");
  for (const resilience::Culprit& culprit : found.culprits)
    require(culprit.rank >= 0 && static_cast<std::size_t>(culprit.rank) < dump.ranks.size(),
            "culprits are ranks of the dump");
  resilience::draw_hang_svg(dump, found);
}

}  // namespace

std::vector<std::string> seeds() {
  resilience::HangDump dump{.time = 1.7e9, .replica = 0, .ranks = {}, .channels = {}};
  for (int rank = 0; rank < 3; ++rank)
    dump.ranks.push_back({.rank = rank, .host = "node", .step = 4, .stands_s = 2.5, .open = {}});
  dump.ranks[0].open = {{.kind = resilience::OperationKind::pass, .label = "F3", .seconds = 2}};
  dump.ranks[1].open = {{.kind = resilience::OperationKind::all_reduce,
                         .label = {},
                         .channel = 0,
                         .number = 1,
                         .bytes = 64,
                         .seconds = 1,
                         .attention = resilience::Attention::stands}};
  dump.ranks[2].open = {{.kind = resilience::OperationKind::receive,
                         .label = {},
                         .channel = 1,
                         .seconds = 1,
                         .attention = resilience::Attention::looks}};
  dump.channels = {{"tensor@0", resilience::ChannelKind::group, {{0, 1, 1, 4, 4}, {1, 2, 1, 4, 4}}},
                   {"direct", resilience::ChannelKind::link, {{1, 1, 1, -1, -1}, {2, 1, 0, -1, -1}}}};
  return {resilience::hang_text(dump)};
}

}  // namespace tenax::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenax;
  static const io::test::TemporaryFolder folder;
  const auto file = folder.write("file", std::string(fuzz::text_of(data, size)));
  fuzz::accepts([&] { fuzz::blame(folder, file); });
  return 0;
}

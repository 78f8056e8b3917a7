// Files of safetensors. A header that is accepted can be written and reads back as the same, and all of its weights can
// be read.
#include <cstring>

#include "io/hugging_face/safetensors.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::fuzz {
namespace {

std::string file_of(const std::string& json, std::size_t data_bytes) {
  std::string length(8, '\0');
  const std::uint64_t bytes = json.size();
  std::memcpy(length.data(), &bytes, sizeof bytes);
  return length + json + std::string(data_bytes, '\1');
}

void read_all(const io::SafetensorsReader& reader, const io::SafetensorsEntry& entry) {
  std::vector<float> values(static_cast<std::size_t>(entry.elements()));
  accepts([&] { reader.read(entry, 0, values); });
}

void check_header(const std::vector<io::SafetensorsEntry>& entries) {
  const std::int64_t data_bytes = entries.empty() ? 0 : entries.back().end;
  const std::string written = io::safetensors_header(entries);
  const auto again = io::parse_safetensors_header(written.substr(8), data_bytes, "written again");
  require(io::safetensors_header(again) == written, "a header that was written reads back as the same");
}

}  // namespace

std::vector<std::string> seeds() {
  return {file_of("{}", 0),
          file_of(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],)"
                  R"("data_offsets":[0,8]}})",
                  8),
          file_of(R"({"wte.weight":{"dtype":"BF16","shape":[3,2],"data_offsets":[0,12]},)"
                  R"("b":{"dtype":"F64","shape":[],"data_offsets":[12,20]},)"
                  R"("h.0.c":{"dtype":"I64","shape":[0,5],"data_offsets":[20,20]}})",
                  20)};
}

}  // namespace tenax::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenax;
  static const io::test::TemporaryFolder folder;
  const auto file = folder.write("a.safetensors", std::string(fuzz::text_of(data, size)));
  fuzz::accepts([&] {
    const io::SafetensorsReader reader(file);
    for (const io::SafetensorsEntry& entry : reader.entries()) fuzz::read_all(reader, entry);
    fuzz::check_header(reader.entries());
  });
  return 0;
}

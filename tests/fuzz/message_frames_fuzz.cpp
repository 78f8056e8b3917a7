// A stream of frames: whatever comes, messages are those that were framed, and none is too long.
#include "comm/messages/message_frames.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace tenax::fuzz {

std::vector<std::string> seeds() {
  std::string stream;
  for (const char* text : {"hello", "", "{\"step\": 1}"}) comm::append_frame(stream, text);
  return {stream};
}

}  // namespace tenax::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenax;
  const std::string_view stream = fuzz::text_of(data, size);
  comm::FrameReader reader;
  std::string framed;
  fuzz::accepts([&] {
    for (std::size_t at = 0; at < stream.size(); at += 7) {
      reader.add(stream.substr(at, 7));
      while (const auto text = reader.next()) comm::append_frame(framed, *text);
    }
  });
  fuzz::require(stream.starts_with(framed), "messages are those that were framed");
  return 0;
}

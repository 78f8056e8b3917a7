// Messages as they come from another process: headers with their payloads, delivered to an inbox that expects
// some of them. A payload may end anywhere. Memory follows what has come, not what was said.
#include <cstring>

#include "comm/inbox/inbox.hpp"
#include "comm/inbox/message_check.hpp"
#include "comm/transport/message_wire.hpp"
#include "kernels/device.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace tenax::fuzz {
namespace {

constexpr std::size_t kFloats = 16, kMostPart = std::size_t{64} << 20;

class Wire {
 public:
  explicit Wire(std::span<const std::byte> bytes) : rest_(bytes) {}
  bool next(comm::MessageHeader& header) {
    if (rest_.size() < comm::kHeaderBytes) return false;
    const auto decoded = comm::decode(rest_.first<comm::kHeaderBytes>());
    header = decoded.value_or(comm::MessageHeader{});
    rest_ = rest_.subspan(comm::kHeaderBytes);
    return decoded.has_value();
  }
  void read(std::span<std::byte> memory) {
    require(memory.size() <= kMostPart, "a word of the sender does not make room for more");
    if (memory.size() > rest_.size()) throw kernels::Error(kernels::Scope::link, "the connection ends here");
    std::memcpy(memory.data(), rest_.data(), memory.size());
    rest_ = rest_.subspan(memory.size());
  }

 private:
  std::span<const std::byte> rest_;
};

std::string text_of(const comm::MessageHeader& header) {
  const comm::HeaderBytes bytes = comm::encode(header);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) +
         std::string(header.payload_bytes, 'p');
}

}  // namespace

std::vector<std::string> seeds() {
  comm::MessageHeader header;
  header.kind = 1;
  header.bytes = header.payload_bytes = kFloats * sizeof(float);
  std::string three;
  for (comm::Tag tag = 0; tag < 3; ++tag) {
    header.tag = tag;
    three += text_of(header);
  }
  comm::MessageHeader long_one = header, shared = header;
  long_one.bytes = long_one.payload_bytes = 5000;
  shared.payload_bytes = 0;
  shared.shared_buffer = 3;
  return {text_of(header), three, text_of(header) + text_of(long_one), text_of(shared)};
}

}  // namespace tenax::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenax;
  static const auto device = kernels::create_cpu_device();
  comm::Signal signal;
  comm::Inbox inbox(*device, signal, "rank 0 (here)", "rank 1 (there)");
  std::vector<float> values(fuzz::kFloats);
  const kernels::Tensor tensor{
      values.data(), kernels::DType::f32, {static_cast<std::int64_t>(values.size())}};
  const auto expected = inbox.post(tensor, 0);
  fuzz::Wire wire({reinterpret_cast<const std::byte*>(data), size});
  for (comm::MessageHeader header; wire.next(header);) {
    fuzz::accepts([&] { comm::refuse_faulty(comm::fault_of_counts(header), "counts"); });
    const auto read = [&](std::span<std::byte> memory) { wire.read(memory); };
    if (header.shared_buffer != 0)
      fuzz::require(!fuzz::accepts([&] { inbox.deliver_shared(header, [](std::size_t) {}); }),
                    "a link without places takes no message in one");
    else if (!fuzz::accepts([&] { inbox.deliver(header, read); }))
      break;
  }
  fuzz::accepts([&] { expected->done(); });
  return 0;
}

// An event file is a sequence of TFRecords (tensorflow/core/lib/io/record_writer.h):
//
//   uint64 length, uint32 masked CRC-32C of length, the event, uint32 masked CRC-32C of the event      little-endian
//   masked(crc) = rotate right by 15, + 0xa282ead8
//
// An event is a protocol buffer (tensorflow/core/util/event.proto, framework/summary.proto):
//
//   Event   1: double wall_time, 2: int64 step, 3: string file_version, 5: Summary
//   Summary 1: repeated Value;   Value 1: string tag, 2: float simple_value
#include "io/run/tensorboard_records.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace tenax::io {
namespace {

constexpr std::size_t kLengthBytes = 8, kCrcBytes = 4;

/// Wire types of protocol buffers.
constexpr std::uint32_t kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;

constexpr std::array<std::uint32_t, 256> crc_table() {
  constexpr std::uint32_t kReversedPolynomial = 0x82F63B78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? kReversedPolynomial : 0);
    table[i] = value;
  }
  return table;
}

template <class Number>
std::string little_endian(Number value) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::string masked_crc(std::string_view bytes) {
  return little_endian(std::rotr(crc32c(bytes), 15) + 0xA282EAD8U);
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string key(std::uint32_t field, std::uint32_t wire_type) { return varint(field << 3 | wire_type); }

std::string bytes_field(std::uint32_t field, std::string_view bytes) {
  return key(field, kBytes) + varint(bytes.size()) + std::string(bytes);
}

std::string wall_time(double unix_time_s) { return key(1, kFixed64) + little_endian(unix_time_s); }

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = crc_table();
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~crc;
}

std::string version_event(double unix_time_s) {
  return wall_time(unix_time_s) + bytes_field(3, "brain.Event:2");
}

std::string scalars_event(double unix_time_s, std::int64_t step,
                          const std::vector<std::pair<std::string_view, double>>& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars)
    summary +=
        bytes_field(1, bytes_field(1, tag) + key(2, kFixed32) + little_endian(static_cast<float>(value)));
  return wall_time(unix_time_s) + key(2, kVarint) + varint(static_cast<std::uint64_t>(step)) +
         bytes_field(5, summary);
}

std::string record_of(std::string_view event) {
  const std::string length = little_endian(std::uint64_t{event.size()});
  return length + masked_crc(length) + std::string(event) + masked_crc(event);
}

std::size_t record_size(std::size_t event_size) { return kLengthBytes + kCrcBytes + event_size + kCrcBytes; }

std::optional<std::string_view> front_record(std::string_view bytes) {
  if (bytes.size() < record_size(0)) return {};
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (bytes.substr(kLengthBytes, kCrcBytes) != masked_crc(bytes.substr(0, kLengthBytes))) return {};
  if (length > bytes.size() - record_size(0)) return {};
  const std::string_view event = bytes.substr(kLengthBytes + kCrcBytes, length);
  if (bytes.substr(kLengthBytes + kCrcBytes + length, kCrcBytes) != masked_crc(event)) return {};
  return event;
}

std::int64_t step_of_event(std::string_view event) {
  std::size_t at = wall_time(0).size();  // these events begin with it
  if (at >= event.size() || event.substr(at, 1) != key(2, kVarint)) return 0;
  std::uint64_t step = 0;
  for (unsigned shift = 0; ++at < event.size() && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(event[at]);
    step |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) break;
  }
  return static_cast<std::int64_t>(step);
}

}  // namespace tenax::io

// IEEE 754 binary16: 1 sign, 5 exponent (bias 15) and 10 fraction bits; binary32: 1, 8 (bias 127) and 23.
#include "io/hugging_face/safetensors.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

#include "kernels/error.hpp"

namespace tenax::io {
namespace {

constexpr std::int64_t kMaxHeaderBytes = 100'000'000;  // the reference implementation's limit
constexpr std::int64_t kPieceElements = 1 << 18;

/// The JSON, after a look at its length.
std::string read_header(const PosixFile& file) {
  const std::int64_t size = file.size();
  if (size < 8)
    refuse_safetensors(file.path(),
                       "it has " + std::to_string(size) + " bytes, less than its header's length takes");
  std::uint64_t length = 0;
  file.read(std::as_writable_bytes(std::span(&length, 1)), 0);
  if (length > kMaxHeaderBytes || static_cast<std::int64_t>(length) > size - 8) {
    refuse_safetensors(file.path(), "its header claims " + std::to_string(length) + " bytes; the file has " +
                                        std::to_string(size));
  }
  std::string text(length, '\0');
  file.read(std::as_writable_bytes(std::span(text)), 8);
  return text;
}

template <class Stored, class Convert>
void convert(std::span<const std::byte> bytes, std::span<float> values, const Convert& to_float) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = to_float(stored);
  }
}

void to_floats(const std::string& dtype, std::span<const std::byte> bytes, std::span<float> values) {
  if (dtype == "F16") return convert<std::uint16_t>(bytes, values, float_of_half);
  if (dtype == "BF16") return convert<std::uint16_t>(bytes, values, float_of_bf16);
  convert<double>(bytes, values, [](double value) { return static_cast<float>(value); });
}

void check_fits_half(float value, const std::filesystem::path& file) {
  if (!std::isfinite(value) || std::fabs(value) < 65520.0F) return;
  throw kernels::Error(kernels::Scope::rank, "cannot write " + file.string() + ": the weight " +
                                                 std::to_string(value) +
                                                 " is too large for F16; use BF16 or F32");
}

}  // namespace

float float_of_half(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1FU, fraction = bits & 0x3FFU;
  if (exponent == 0) {  // zero, or a subnormal: a multiple of 2^-24
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 0x1FU ? 0xFFU : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

std::uint16_t half_of_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return sign | 0x7E00U;   // NaN
  if (magnitude >= 0x477FF000U) return sign | 0x7C00U;  // 65520 and above round to infinity
  if (magnitude < 0x38800000U) {  // below 2^-14: a multiple of 2^-24, rounded by adding 1/2 (ulp 2^-24)
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(shifted) -
                                             std::bit_cast<std::uint32_t>(0.5F));
  }
  const std::uint32_t rounded = magnitude + 0xFFFU + (magnitude >> 13 & 1U);
  return sign | static_cast<std::uint16_t>((rounded - ((127U - 15U) << 23)) >> 13);
}

SafetensorsReader::SafetensorsReader(const std::filesystem::path& file)
    : file_(PosixFile::open_to_read(file)) {
  const std::string header = read_header(file_);
  data_begin_ = 8 + static_cast<std::int64_t>(header.size());
  entries_ = parse_safetensors_header(header, file_.size() - data_begin_, file);
}

void SafetensorsReader::read(const SafetensorsEntry& entry, std::int64_t begin,
                             std::span<float> values) const {
  assert(begin >= 0 && begin + static_cast<std::int64_t>(values.size()) <= entry.elements());
  const std::int64_t width = bytes_of_dtype(entry.dtype);
  std::int64_t at = data_begin_ + entry.begin + begin * width;
  if (entry.dtype == "F32") return file_.read(std::as_writable_bytes(values), at);
  if (entry.dtype != "F64" && entry.dtype != "F16" && entry.dtype != "BF16") {
    refuse_safetensors(path(),
                       "'" + entry.name + "' has the type " + entry.dtype + ", which holds no weights");
  }
  std::vector<std::byte> bytes(std::min(values.size(), std::size_t{kPieceElements}) *
                               static_cast<std::size_t>(width));
  while (!values.empty()) {
    const auto piece = values.first(std::min(values.size(), std::size_t{kPieceElements}));
    const auto raw = std::span(bytes).first(piece.size() * static_cast<std::size_t>(width));
    file_.read(raw, at);
    to_floats(entry.dtype, raw, piece);
    at += static_cast<std::int64_t>(raw.size());
    values = values.subspan(piece.size());
  }
}

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& target, const std::vector<Tensor>& tensors,
                                     const std::string& dtype)
    : file_(target), dtype_(dtype) {
  assert(dtype == "F32" || dtype == "F16" || dtype == "BF16");
  std::vector<SafetensorsEntry> entries;
  std::int64_t data_bytes = 0;
  for (const Tensor& tensor : tensors) {
    std::int64_t bytes = bytes_of_dtype(dtype);
    for (const std::int64_t extent : tensor.shape) bytes *= extent;
    entries.push_back({tensor.name, dtype, tensor.shape, data_bytes, data_bytes + bytes});
    data_bytes += bytes;
  }
  const std::string header = safetensors_header(entries);
  at_ = static_cast<std::int64_t>(header.size());
  end_ = at_ + data_bytes;
  file_.file().reserve(end_);
  file_.file().write(std::as_bytes(std::span(header)), 0);
}

void SafetensorsWriter::append(std::span<const float> values) {
  const auto write = [&](std::span<const std::byte> bytes) {
    assert(at_ + static_cast<std::int64_t>(bytes.size()) <= end_);
    file_.file().write(bytes, at_);
    at_ += static_cast<std::int64_t>(bytes.size());
  };
  if (dtype_ == "F32") return write(std::as_bytes(values));
  std::vector<std::uint16_t> bits(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype_ == "F16") check_fits_half(values[i], file_.target());
    bits[i] = dtype_ == "F16" ? half_of_float(values[i]) : bf16_of_float(values[i]);
  }
  write(std::as_bytes(std::span(bits)));
}

std::pair<std::filesystem::path, std::filesystem::path> SafetensorsWriter::sync() const {
  assert(at_ == end_);
  return file_.sync();
}

void SafetensorsWriter::publish() {
  assert(at_ == end_);
  file_.publish();
}

}  // namespace tenax::io

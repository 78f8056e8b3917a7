// The seal is four lines of text, then zero bytes up to 4096:
//
//   tenax checkpoint 1             what this is, and the version of these four lines
//   file_bytes 1493303296          length of the whole file
//   checksum 0123456789abcdef      of the bytes from 4096 on (checksum.hpp; word 0 is at byte 0 of the file)
//   seal fedcba9876543210          checksum of the three lines above
//
// A seal is accepted only if writing it again gives the same 4096 bytes, so that every one of them counts.
#include "io/checkpoint/checkpoint_seal.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "io/checksum.hpp"
#include "io/front_bytes.hpp"
#include "io/posix_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;
constexpr char kMagic[] = "tenax checkpoint 1\n";

[[noreturn]] void fail(const fs::path& file, const std::string& what) {
  throw kernels::UnfitFileError(kernels::Scope::rank, file.string() + " " + what);
}

[[noreturn]] void fail_truncated(const fs::path& file, std::int64_t has, std::int64_t should) {
  fail(file, std::string(has < should ? "is truncated" : "is damaged") + ": it has " + std::to_string(has) +
                 " bytes, but should have " + std::to_string(should));
}

/// Zero where the text is no seal at all; the caller compares what it renders to.
Seal parse(const std::string& text) {
  long long file_bytes = 0;
  unsigned long long checksum = 0;
  constexpr char kForm[] = "tenax checkpoint 1\nfile_bytes %18lld\nchecksum %16llx\n";
  if (std::sscanf(text.c_str(), kForm, &file_bytes, &checksum) != 2) return {};
  return {file_bytes, checksum};
}

}  // namespace

std::string render(const Seal& seal) {
  std::string text = kMagic;
  text += "file_bytes " + std::to_string(seal.file_bytes) + "\n";
  text += "checksum " + checksum_text(seal.checksum) + "\n";
  text += "seal " + checksum_text(checksum_of_bytes(std::as_bytes(std::span(text)), 0)) + "\n";
  text.resize(kSealBytes, '\0');
  return text;
}

Seal read_seal(const fs::path& path) { return read_seal(PosixFile::open_to_read(path)); }

Seal read_seal(const PosixFile& file) {
  const fs::path& path = file.path();
  const std::int64_t size = file.size();
  const std::string text = front_bytes(file, kSealBytes);
  const std::string_view magic = std::string_view(kMagic).substr(0, text.size());
  if (!text.starts_with(magic)) fail(path, "is not a tenax checkpoint");
  const Seal seal = parse(text);
  if (size < kSealBytes) fail_truncated(path, size, std::max(seal.file_bytes, kSealBytes));
  if (render(seal) != text) fail(path, "is damaged: its first 4096 bytes (the seal) contradict themselves");
  if (size != seal.file_bytes) fail_truncated(path, size, seal.file_bytes);
  return seal;
}

ByteRange share_of_file(const Seal& seal, int rank, int ranks) {
  const std::int64_t words = (seal.file_bytes - kSealBytes + 3) / 4;
  const auto begin = [&](int r) {
    return kSealBytes + 4 * (words / ranks * r + std::min<std::int64_t>(r, words % ranks));
  };
  return {begin(rank), std::min(begin(rank + 1), seal.file_bytes)};
}

std::uint64_t checksum_of_file(const PosixFile& file, ByteRange range) {
  std::vector<std::byte> buffer(
      static_cast<std::size_t>(std::clamp<std::int64_t>(range.end - range.begin, 0, 1 << 20)));
  std::uint64_t sum = 0;
  for (std::int64_t at = range.begin; at < range.end;) {
    const auto part = std::span(buffer).first(static_cast<std::size_t>(
        std::min<std::int64_t>(range.end - at, static_cast<std::int64_t>(buffer.size()))));
    file.read(part, at);
    sum += checksum_of_bytes(part, at);
    at += static_cast<std::int64_t>(part.size());
  }
  return sum;
}

void check_seal(const fs::path& file, const Seal& seal, std::uint64_t checksum) {
  if (checksum == seal.checksum) return;
  fail(file, "is damaged: the checksum of its contents is " + checksum_text(checksum) + ", but should be " +
                 checksum_text(seal.checksum));
}

void verify_seal(const fs::path& file) { verify_seal(PosixFile::open_to_read(file)); }

void verify_seal(const PosixFile& file) {
  const Seal seal = read_seal(file);
  check_seal(file.path(), seal, checksum_of_file(file, share_of_file(seal, 0, 1)));
}

}  // namespace tenax::io

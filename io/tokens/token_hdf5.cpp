#include "io/tokens/token_hdf5.hpp"

#include <algorithm>
#include <numeric>

#include "io/checksum.hpp"
#include "io/front_bytes.hpp"
#include "io/hdf5_attribute.hpp"
#include "io/posix_file.hpp"
#include "io/tokens/token_bytes.hpp"
#include "io/tokens/token_chunks.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

class TokenFileReader {
 public:
  explicit TokenFileReader(const fs::path& path) : path_(path), file_(open(path)) {}

  TokenFileInfo info() const {
    const std::int64_t version = read_integer_attribute(file_, "format_version");
    if (version < 1 || version > kTokenFormatVersion)
      refuse_tokens(path_, "its format version " + std::to_string(version) +
                               " is not one this tenax knows (1 to " + std::to_string(kTokenFormatVersion) +
                               "): tokenize again, or use a newer tenax");
    if (version == 1) check_heaps();
    const auto text = [&](const char* name) {
      return read_text_attribute(file_, name, version == 1 ? TextLength::any : TextLength::fixed);
    };
    return {text("tokenizer"),
            read_integer_attribute(file_, "vocab_size"),
            read_integer_attribute(file_, "token_count"),
            read_integer_attribute(file_, "document_count"),
            text("sources"),
            parse_checksum(text("checksum")),
            version};
  }

  TokenPieces size() const { return size_of(open_dataset("/tokens")); }

  TokenPieces pieces() const {
    const Hdf5Id dataset = open_dataset("/tokens");
    TokenPieces pieces = size_of(dataset);
    const Hdf5Id creation(TENAX_HDF5(H5Dget_create_plist(dataset)), H5Pclose);
    if (H5Pget_layout(creation) == H5D_CHUNKED)
      locate_chunks(dataset, creation, pieces);
    else
      locate_whole(dataset, pieces);
    locate_checksums(pieces);
    return pieces;
  }

  template <class Value>
  std::vector<Value> read(const char* name, hid_t type) const {
    const Hdf5Id dataset = open_dataset(name);
    std::vector<Value> values(static_cast<std::size_t>(length_of(dataset)));
    TENAX_HDF5(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
    return values;
  }

 private:
  static Hdf5Id open(const fs::path& path) {
    // The system's reason, where there is one, says more than HDF5's.
    const std::string head = front_bytes(PosixFile::open_to_read(path), kCheckpointMagic.size());
    if (head == kCheckpointMagic) refuse_tokens(path, "it is a checkpoint of tenax, not tokens");
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, create_file_access());
    if (file < 0) refuse_tokens(path, "it is not a whole HDF5 file");
    return {file, H5Fclose};
  }

  /// Where tokens lie there are no heaps.
  void check_heaps() const {
    constexpr std::int64_t kMostBetween = std::int64_t{1} << 30;  // bytes that are no tokens, in one place
    const TokenPieces where = pieces();
    std::vector<std::int64_t> begins = where.offsets;
    std::sort(begins.begin(), begins.end());
    const TokenBytes file(path_);
    begins.push_back(file.size());
    const std::int64_t piece_bytes = where.piece_tokens * static_cast<std::int64_t>(where.bytes_per_token);
    std::int64_t at = 0;
    for (const std::int64_t begin : begins) {
      const std::int64_t end = std::clamp(begin, at, file.size());
      if (end - at > kMostBetween) refuse_tokens(path_, "damaged: its tokens are not where they should be");
      std::vector<std::byte> part(static_cast<std::size_t>(end - at));
      file.read(part, at);
      if (!has_sound_heaps(part))
        refuse_tokens(path_, "damaged: the heap that holds its texts contradicts itself");
      at = std::min(file.size(), end + piece_bytes);
    }
  }

  Hdf5Id open_dataset(const char* name) const {
    const hid_t dataset = H5Dopen2(file_, name, H5P_DEFAULT);
    if (dataset < 0)
      refuse_tokens(path_, std::string("there is no ") + name + ": it is not a file of tenax tokenize");
    return {dataset, H5Dclose};
  }

  TokenPieces size_of(hid_t dataset) const {
    const Hdf5Id type(TENAX_HDF5(H5Dget_type(dataset)), H5Tclose);
    TokenPieces size;
    if (H5Tequal(type, H5T_STD_U16LE) > 0) size.bytes_per_token = 2;
    if (H5Tequal(type, H5T_STD_U32LE) > 0) size.bytes_per_token = 4;
    if (size.bytes_per_token == 0)
      refuse_tokens(path_, "/tokens is neither uint16 nor uint32, little-endian");
    size.tokens = length_of(dataset);
    return size;
  }

  std::int64_t length_of(hid_t dataset) const {
    const Hdf5Id space(TENAX_HDF5(H5Dget_space(dataset)), H5Sclose);
    hsize_t length = 0;
    if (H5Sget_simple_extent_ndims(space) != 1)
      refuse_tokens(path_, "a dataset of it is not one-dimensional");
    TENAX_HDF5(H5Sget_simple_extent_dims(space, &length, nullptr));
    return static_cast<std::int64_t>(length);
  }

  void locate_whole(hid_t dataset, TokenPieces& pieces) const {
    const haddr_t offset = H5Dget_offset(dataset);
    if (offset == HADDR_UNDEF) refuse_tokens(path_, "/tokens is not stored in the file as it is");
    pieces.piece_tokens = std::max<std::int64_t>(pieces.tokens, 1);
    pieces.offsets = {static_cast<std::int64_t>(offset)};
  }

  void locate_chunks(hid_t dataset, hid_t creation, TokenPieces& pieces) const {
    if (H5Pget_nfilters(creation) != 0)
      refuse_tokens(path_,
                    "/tokens is compressed, which training cannot read in place: write it without filters");
    hsize_t chunk = 0;
    TENAX_HDF5(H5Pget_chunk(creation, 1, &chunk));
    pieces.piece_tokens = static_cast<std::int64_t>(chunk);
    const TokenChunks chunks{file_, dataset, chunk, chunk * pieces.bytes_per_token};
    const hsize_t tokens = static_cast<hsize_t>(pieces.tokens);
    pieces.offsets = chunks.find_all(tokens / chunk + (tokens % chunk != 0));
    const auto hole = std::find(pieces.offsets.begin(), pieces.offsets.end(), kNoChunk);
    if (hole != pieces.offsets.end())
      refuse_tokens(path_, "/tokens has a hole at token " +
                               std::to_string((hole - pieces.offsets.begin()) * pieces.piece_tokens));
  }

  void locate_checksums(TokenPieces& pieces) const {
    if (H5Lexists(file_, "/checksums", H5P_DEFAULT) <= 0) return;
    const Hdf5Id dataset = open_dataset("/checksums");
    const Hdf5Id type(TENAX_HDF5(H5Dget_type(dataset)), H5Tclose);
    const haddr_t offset = H5Dget_offset(dataset);
    const bool is_whole = offset != HADDR_UNDEF && H5Tequal(type, H5T_STD_U64LE) > 0 &&
                          length_of(dataset) == (pieces.tokens + kCheckedTokens - 1) / kCheckedTokens;
    if (!is_whole) refuse_tokens(path_, "/checksums does not belong to its tokens");
    pieces.checksums_at = static_cast<std::int64_t>(offset);
  }

  const fs::path& path_;
  Hdf5Id file_;
};

/// HDF5's own complaints name no file.
template <class Read>
auto read_file(const fs::path& file, const Read& read) {
  const Hdf5Session session;
  try {
    return read(TokenFileReader(file));
  } catch (const kernels::Error& error) {
    const std::string what = error.what();
    if (what.find(file.string()) != std::string::npos) throw;
    refuse_tokens(file, what);
  }
}

void require(bool holds, const fs::path& file, const char* what) {
  if (!holds) refuse_tokens(file, what);
}

/// Of the bytes [begin, end) of /tokens, the first of which is at `offset` in the file.
std::uint64_t checksum_of_piece(const TokenBytes& file, std::int64_t offset, std::int64_t begin,
                                std::int64_t end) {
  constexpr std::int64_t kBlock = 1 << 20;
  std::vector<std::byte> block;
  std::uint64_t sum = 0;
  for (; begin < end; begin += kBlock, offset += kBlock) {
    block.resize(static_cast<std::size_t>(std::min(kBlock, end - begin)));
    file.read(block, offset);
    sum += checksum_of_bytes(block, begin);
  }
  return sum;
}

}  // namespace

void verify_token_file(const fs::path& file) {
  const TokenFileInfo info = read_token_file_info(file);
  const TokenPieces pieces = locate_tokens(file);
  require(pieces.tokens == info.tokens, file, "its attribute token_count is not the length of /tokens");
  const TokenBytes bytes(file);
  constexpr std::int64_t kWord = 4;
  const auto width = static_cast<std::int64_t>(pieces.bytes_per_token), end = pieces.tokens * width,
             piece_bytes = pieces.piece_tokens * width;
  require(pieces.offsets.size() == 1 || piece_bytes % kWord == 0, file, "its pieces are not whole words");
  std::uint64_t checksum = 0;
  std::int64_t at = 0;  // among the bytes of /tokens
  for (const std::int64_t offset : pieces.offsets) {
    const std::int64_t piece_end = std::min(at + piece_bytes, end);
    checksum += checksum_of_piece(bytes, offset, at, piece_end);
    at = piece_end;
  }
  require(checksum == info.checksum, file,
          "damaged: its tokens do not have the checksum they were written with");
  if (pieces.checksums_at == 0) return;
  const auto parts = read_file(file, [](const TokenFileReader& reader) {
    return reader.read<std::uint64_t>("/checksums", H5T_NATIVE_UINT64);
  });
  require(std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}) == checksum, file,
          "damaged: /checksums is not what was written");
}

void verify_old_token_file(const fs::path& file) {
  if (read_token_file_info(file).format == 1) verify_token_file(file);
}

TokenFileInfo read_token_file_info(const fs::path& file) {
  return read_file(file, [](const TokenFileReader& reader) { return reader.info(); });
}

TokenPieces measure_tokens(const fs::path& file) {
  return read_file(file, [](const TokenFileReader& reader) { return reader.size(); });
}

TokenPieces locate_tokens(const fs::path& file) {
  return read_file(file, [](const TokenFileReader& reader) { return reader.pieces(); });
}

std::vector<std::int64_t> read_token_documents(const fs::path& file) {
  return read_file(file, [](const TokenFileReader& reader) {
    return reader.read<std::int64_t>("/documents", H5T_NATIVE_INT64);
  });
}

std::vector<std::string> read_token_vocabulary(const fs::path& file) {
  return read_file(file, [&](const TokenFileReader& reader) {
    const auto bytes = reader.read<char>("/vocabulary/bytes", H5T_NATIVE_UINT8);
    std::vector<std::string> vocabulary;
    std::size_t at = 0;
    for (const std::uint16_t length : reader.read<std::uint16_t>("/vocabulary/lengths", H5T_NATIVE_UINT16)) {
      if (length > bytes.size() - at) refuse_tokens(file, "/vocabulary/bytes is shorter than its lengths");
      vocabulary.emplace_back(bytes.data() + at, length);
      at += length;
    }
    return vocabulary;
  });
}

}  // namespace tenax::io

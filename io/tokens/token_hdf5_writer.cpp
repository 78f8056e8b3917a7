#include "io/tokens/token_hdf5_writer.hpp"

#include <numeric>

#include "io/checksum.hpp"
#include "io/hdf5.hpp"
#include "io/hdf5_attribute.hpp"
#include "io/tokens/token_chunks.hpp"
#include "io/tokens/token_hdf5.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

/// A dataset of `capacity` = H5S_UNLIMITED elements grows in chunks of `chunk`, which are written as they come; else it
/// has `capacity` and none.
Hdf5Id create_dataset(hid_t where, const char* name, hid_t type, hsize_t capacity, hsize_t chunk) {
  const bool grows = capacity == H5S_UNLIMITED;
  const hsize_t size = grows ? 0 : capacity;
  const Hdf5Id space(TENAX_HDF5(H5Screate_simple(1, &size, &capacity)), H5Sclose);
  const Hdf5Id properties = create_untimed(H5P_DATASET_CREATE);
  const Hdf5Id access(TENAX_HDF5(H5Pcreate(H5P_DATASET_ACCESS)), H5Pclose);
  if (grows) TENAX_HDF5(H5Pset_chunk(properties, 1, &chunk));
  TENAX_HDF5(H5Pset_chunk_cache(access, 0, 0, 0));
  return {TENAX_HDF5(H5Dcreate2(where, name, type, space, H5P_DEFAULT, properties, access)), H5Dclose};
}

void extend(hid_t dataset, hid_t memory_type, const void* values, hsize_t count, hsize_t first) {
  const hsize_t size = first + count;
  TENAX_HDF5(H5Dset_extent(dataset, &size));
  const Hdf5Id in_file(TENAX_HDF5(H5Dget_space(dataset)), H5Sclose);
  TENAX_HDF5(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, &first, nullptr, &count, nullptr));
  const Hdf5Id in_memory(TENAX_HDF5(H5Screate_simple(1, &count, nullptr)), H5Sclose);
  TENAX_HDF5(H5Dwrite(dataset, memory_type, in_memory, in_file, H5P_DEFAULT, values));
}

void write_whole(hid_t where, const char* name, hid_t stored, hid_t memory_type, const void* values,
                 std::size_t count) {
  const Hdf5Id dataset = create_dataset(where, name, stored, count, 0);
  TENAX_HDF5(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
}

/// So that the file can be decoded by itself.
void write_vocabulary(hid_t file, const Tokenizer& tokenizer) {
  std::string bytes;
  std::vector<std::uint16_t> lengths;
  for (std::int32_t token = 0; token < tokenizer.vocab_size(); ++token) {
    bytes += tokenizer.bytes_of(token);
    lengths.push_back(static_cast<std::uint16_t>(tokenizer.bytes_of(token).size()));
  }
  const Hdf5Id properties = create_untimed(H5P_GROUP_CREATE);
  const Hdf5Id group(TENAX_HDF5(H5Gcreate2(file, "/vocabulary", H5P_DEFAULT, properties, H5P_DEFAULT)),
                     H5Gclose);
  write_whole(group, "bytes", H5T_STD_U8LE, H5T_NATIVE_UINT8, bytes.data(), bytes.size());
  write_whole(group, "lengths", H5T_STD_U16LE, H5T_NATIVE_UINT16, lengths.data(), lengths.size());
}

std::string lines(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : "\n") + name;
  return text;
}

Hdf5File create_file(const std::filesystem::path& path) {
  const Hdf5Id creation = create_untimed(H5P_FILE_CREATE), access = create_file_access();
  TENAX_HDF5(H5Pset_alignment(access, 1, 64));  // tokens are read where they lie, as whole words
  return {path, creation, access};
}

kernels::Error with_name(const std::filesystem::path& target, const kernels::Error& error) {
  return {error.scope(), "cannot write " + target.string() + ": " + error.what()};
}

/// HDF5's own complaints name no file. The system's reason, where there is one, says more than HDF5's.
template <class Write>
void write_file(const std::filesystem::path& target, const Write& write) {
  const Hdf5Session session;
  try {
    write();
  } catch (const Hdf5Error& error) {
    if (error.system_code() != 0) throw_file_error("write", target, error.system_code());
    throw with_name(target, error);
  } catch (const kernels::Error& error) {
    throw with_name(target, error);
  }
}

}  // namespace

struct TokenHdf5Writer::File {
  File(const std::filesystem::path& path, hid_t stored, hid_t memory)
      : file(create_file(path)),
        tokens(create_dataset(file, "/tokens", stored, H5S_UNLIMITED, kBlockTokens)),
        documents(create_dataset(file, "/documents", H5T_STD_I64LE, H5S_UNLIMITED, kDocumentChunk)),
        memory_type(memory) {}
  ~File() { file.abandon(); }  // unless it was closed
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  static constexpr hsize_t kDocumentChunk = 4096;
  Hdf5File file;
  Hdf5Id tokens, documents;
  hid_t memory_type;  // of /tokens
  ChunkNotes notes;   // of the same
};

TokenHdf5Writer::TokenHdf5Writer(const std::filesystem::path& target, const std::filesystem::path& later,
                                 const Tokenizer& tokenizer, const std::vector<std::string>& sources,
                                 std::size_t bytes_per_token)
    : TokenWriter(later, bytes_per_token), target_(target), temporary_(TemporaryPath::beside(target)) {
  PosixFile::create_for(temporary_.path(), later);
  write_file(later, [&] {
    const bool is_short = bytes_per_token == 2;
    file_ = std::make_unique<File>(temporary_.path(), is_short ? H5T_STD_U16LE : H5T_STD_U32LE,
                                   is_short ? H5T_NATIVE_UINT16 : H5T_NATIVE_UINT32);
    write_attribute(file_->file, "format_version", kTokenFormatVersion);
    write_attribute(file_->file, "tokenizer", tokenizer.name());
    write_attribute(file_->file, "vocab_size", tokenizer.vocab_size());
    write_attribute(file_->file, "sources", lines(sources));
    if (tokenizer.name() != "bytes") write_vocabulary(file_->file, tokenizer);
  });
}

TokenHdf5Writer::~TokenHdf5Writer() {
  const Hdf5Session session;
  file_.reset();
}

void TokenHdf5Writer::write_block(std::span<const std::byte> block, std::int64_t first_token) {
  write_file(later_name(), [&] {
    const std::size_t bytes_per_token = H5Tget_size(file_->memory_type);
    const auto first = static_cast<hsize_t>(first_token);
    file_->notes.add({file_->file, file_->tokens, kBlockTokens, kBlockTokens * bytes_per_token}, first, [&] {
      extend(file_->tokens, file_->memory_type, block.data(), block.size() / bytes_per_token, first);
    });
  });
}

void TokenHdf5Writer::write_documents(std::span<const std::int64_t> first_tokens,
                                      std::int64_t first_document) {
  write_file(later_name(), [&] {
    extend(file_->documents, H5T_NATIVE_INT64, first_tokens.data(), first_tokens.size(),
           static_cast<hsize_t>(first_document));
  });
}

void TokenHdf5Writer::finish() {
  write_file(later_name(), [&] {
    write_attribute(file_->file, "token_count", tokens());
    write_attribute(file_->file, "document_count", documents());
    const std::vector<std::uint64_t>& parts = checksums();
    const std::uint64_t whole = std::accumulate(parts.begin(), parts.end(), std::uint64_t{0});
    write_attribute(file_->file, "checksum", checksum_text(whole));
    write_whole(file_->file, "checksums", H5T_STD_U64LE, H5T_NATIVE_UINT64, parts.data(), parts.size());
    const std::vector<std::int64_t>& chunks = file_->notes.places();
    write_whole(file_->file, kChunkList, H5T_STD_I64LE, H5T_NATIVE_INT64, chunks.data(), chunks.size());
    file_->file.flush();  // after which nothing of it can fail to close
    TENAX_HDF5(file_->tokens.close());
    TENAX_HDF5(file_->documents.close());
    file_->file.close();
  });
  PosixFile::open_to_write(temporary_.path()).sync();
  io::publish(temporary_.path(), target_);
}

}  // namespace tenax::io
